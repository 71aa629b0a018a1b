"""Add a list: add every item of a Markdown list as a task, all of them or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import names
from fleet.model.results.tasks import Added, AddedMany
from fleet.model.tasks import interchange, slugs
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

    Every task gets the other fields of `like`. Only items that are not indented under another item get the dependencies
    of `like`.
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

    asked = [(item.title, item.description, item.parent) for item in items]
    one = f"add {like.project}/{slugs.slug_from(items[0].title)}"
    why = one if len(items) == 1 else f"add {len(items)} tasks from {name} to {like.project}"
    return Change(why, work, asked, *like.request_fields, returns=AddedMany)


def planned_tasks(rows: Rows, items: list[Item], like: NewTask) -> list[Added]:
    """Return the tasks that a list would become, each with a free slug. Nothing is written."""
    if q.project_by_name(rows, name=like.project) is None:
        raise errors.NoSuchProject(project=like.project)
    for needs in like.after:
        tasks.state(rows, like.project, names.slug(needs))
    added: list[Added] = []
    taken: set[str] = set()
    for draft, item in zip(_checked_drafts(items, like), items, strict=True):
        slug = _free_slug(rows, like.project, slugs.slug_from(draft.title), taken)
        taken.add(slug)
        after = list(like.after) if item.parent is None else [added[item.parent].slug]
        added.append(Added(project=like.project, task=slug, slug=slug, title=draft.title, after=after))
    return added


def _checked_drafts(items: list[Item], like: NewTask) -> list[NewTask]:
    """Return each item as a checked task. Raise ImportRefused with every bad item and its line."""
    drafts, findings = [], []
    for item in items:
        try:
            drafts.append(checked_task(like._replace(title=item.title, description=item.description)))
        except errors.FleetError as error:
            findings.append(f"line {item.line}: {error}")
    if findings:
        raise errors.ImportRefused(told=interchange.findings_text(findings), findings=findings)
    return drafts


def _free_slug(rows: Rows, project: str, stem: str, taken: set[str]) -> str:
    """Return the first slug made from `stem` that is neither in the store nor in `taken`."""
    number = 1
    while (slug := slugs.numbered_slug(stem, number)) in taken or q.task_exists(rows, project=project, slug=slug):
        number += 1
    return slug
