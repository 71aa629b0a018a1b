"""Add every item of a Markdown list as a task: all of them or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import names
from fleet.model.results.tasks import Added, AddedMany
from fleet.model.tasks import graph, interchange, slugs
from fleet.model.tasks.markdown_list import stem_of
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change
from fleet.verbs.tasks.add import add_edge, checked_task, insert_task

if TYPE_CHECKING:
    from fleet.model.tasks.markdown_list import Item
    from fleet.store.transaction import Rows, Tx
    from fleet.verbs.tasks.add import NewTask


def add_list(items: list[Item], like: NewTask, *, name: str) -> Change[AddedMany]:
    """Return the change that adds every item of a list as a task, or none.

    Every task gets the fields of `like`, except that an item's own model replaces the model of `like`. Only items that are
    not indented under another item get the dependencies of `like`. `name` is the file's name, for the operation log.
    Raises ImportRefused with every bad item; committing the change raises what `planned_tasks` raises.
    """
    drafts = _checked_drafts(items, like)

    def work(tx: Tx) -> AddedMany:
        added = planned_tasks(tx, items, like)
        tx.about(like.project, added[0].slug if len(added) == 1 else None)
        for number, (draft, task) in enumerate(zip(drafts, added, strict=True)):
            # Later items get later times: among tasks of the same priority the oldest is started first.
            insert_task(tx, draft, task.slug, added_at=tx.at + number)
            for tag in sorted({names.tag(each) for each in like.tags}):
                q.add_tag(tx, project=like.project, slug=task.slug, tag=tag)
        for task in added:
            for needs in task.after:
                add_edge(tx, like.project, task.slug, needs)
            q.count_blockers(tx, project=like.project, slug=task.slug, at=tx.at)
        tx.note(tasks=[task.slug for task in added], file=name)
        return AddedMany(project=like.project, tasks=added)

    asked = [(item.title, item.description, item.parent, item.after, item.model, item.slug) for item in items]
    one = f"add {like.project}/{slugs.slug_from(items[0].title)}"
    why = one if len(items) == 1 else f"add {len(items)} tasks from {name} to {like.project}"
    return Change(why, work, asked, *like.request_fields, returns=AddedMany)


def planned_tasks(rows: Rows, items: list[Item], like: NewTask) -> list[Added]:
    """Return the tasks that a list would become, each with its slug. Writes nothing.

    Raises NoSuchProject, NoSuchTask for a missing dependency of `like`, SlugTaken, DependencyCycle, or ImportRefused
    with every other fault of the list.
    """
    if q.project_by_name(rows, name=like.project) is None:
        raise errors.NoSuchProject(project=like.project)
    for needs in like.after:
        tasks.state(rows, like.project, names.slug(needs))
    drafts = _checked_drafts(items, like)
    chosen = _choose_slugs(rows, items, drafts)
    named = {stem_of(item): slug for item, slug in reversed(list(zip(items, chosen, strict=True)))}
    added: list[Added] = []
    findings: list[str] = []
    for draft, item, slug in zip(drafts, items, chosen, strict=True):
        above = like.after if item.parent is None else (chosen[item.parent],)
        own = [named.get(name, name) for name in item.after]
        unknown = [name for name in own if name not in chosen and not _is_task(rows, like.project, name)]
        findings += [f"line {item.line}: {name!r} is neither an item of the list nor a task" for name in unknown]
        after = list(dict.fromkeys([*above, *own]))
        added.append(Added(project=like.project, task=slug, slug=slug, title=draft.title, after=after))
    _refuse_findings(findings)
    cycle = graph.find_cycle({task.slug: task.after for task in added if task.after})
    if cycle:
        raise errors.DependencyCycle(cycle=graph.cycle_text(cycle))
    return added


def _choose_slugs(rows: Rows, items: list[Item], drafts: list[NewTask]) -> list[str]:
    """Return the slug of each item: its own, or a free one made from its title. Raises SlugTaken when its own is taken."""
    own = [item.slug for item in items if item.slug]
    taken: set[str] = set(own)
    chosen: list[str] = []
    for draft, item in zip(drafts, items, strict=True):
        if item.slug and (own.count(item.slug) > 1 or _is_task(rows, draft.project, item.slug)):
            raise errors.SlugTaken(project=draft.project, slug=item.slug)
        chosen.append(item.slug or _free_slug(rows, draft.project, slugs.slug_from(draft.title), taken))
        taken.add(chosen[-1])
    return chosen


def _is_task(rows: Rows, project: str, slug: str) -> bool:
    """Return whether the project has a task with this slug."""
    return q.task_exists(rows, project=project, slug=slug) is not None


def _checked_drafts(items: list[Item], like: NewTask) -> list[NewTask]:
    """Return each item as a checked task. Raise ImportRefused with every bad item and its line."""
    drafts, findings = [], []
    for item in items:
        try:
            model = like.model if item.model is None else item.model
            own = like.replaced(title=item.title, description=item.description, slug=item.slug, model=model)
            drafts.append(checked_task(own))
        except errors.FleetError as error:
            findings.append(f"line {item.line}: {error}")
    _refuse_findings(findings)
    return drafts


def _refuse_findings(findings: list[str]) -> None:
    """Raise ImportRefused with every fault that was found in the list, if there are any."""
    if findings:
        raise errors.ImportRefused(told=interchange.findings_text(findings), findings=findings)


def _free_slug(rows: Rows, project: str, stem: str, taken: set[str]) -> str:
    """Return the first slug made from `stem` that is neither in the store nor in `taken`."""
    number = 1
    while (slug := slugs.numbered_slug(stem, number)) in taken or q.task_exists(rows, project=project, slug=slug):
        number += 1
    return slug
