"""Edit a task: its fields, its dependencies and its tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fleet import errors
from fleet.model import names
from fleet.model.results.tasks import Edited
from fleet.model.tasks import fence, graph
from fleet.model.text import texts
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change
from fleet.verbs.tasks.add import add_edge

if TYPE_CHECKING:
    from fleet.store.queries import TaskState
    from fleet.store.transaction import Tx

# The fields that say what the agent has to do; changing them while somebody else works on the task needs --override.
_ORDERS = frozenset({"title", "description", "verify", "engine", "model"})
# The fields that can be emptied.
_CLEARABLE = ("not_before", "verify", "engine", "model")


class Edit(NamedTuple):
    """What to change in a task. None leaves a field as it is; `clear` names the fields to empty.

    `add_after` and `drop_after` are the slugs of tasks that it is to wait for, or no longer. `not_before` is a time in
    milliseconds; `not_before_said` is how the person wrote it, if relative ("in 2 hours").
    """

    project: str
    slug: str
    title: str | None = None
    description: str | None = None
    priority: int | None = None
    not_before: int | None = None
    verify: str | None = None
    engine: str | None = None
    model: str | None = None
    clear: frozenset[str] = frozenset()
    add_after: tuple[str, ...] = ()
    drop_after: tuple[str, ...] = ()
    add_tags: tuple[str, ...] = ()
    drop_tags: tuple[str, ...] = ()
    override: bool = False
    not_before_said: str | None = None


def edit(wanted: Edit) -> Change[Edited]:
    """Return the change that edits a task's fields, dependencies and tags.

    A new title, description, verify command, engine or model, or other dependencies, change what has to be done. When
    somebody else works on the task, such an edit needs `override`, else committing raises NeedsOverride. With it, the
    task is open again, and whoever worked on it is superseded. A task whose work waits for review or merge needs no
    `override`, and stays at its stage. Committing raises NoSuchTask when the task or a new dependency does not exist,
    DependencyCycle when a task would wait for itself.
    """
    fields = _new_values(wanted)
    project, slug = names.project(wanted.project), names.slug(wanted.slug)
    edges = [names.slug(each) for each in (*wanted.add_after, *wanted.drop_after)]
    tags = [names.tag(each) for each in (*wanted.add_tags, *wanted.drop_tags)]

    def work(tx: Tx) -> Edited:
        tx.about(project, slug)
        was = tasks.state(tx, project, slug)
        if edges or _ORDERS & fields.keys():
            _supersede_assignee(tx, project, slug, was, override=wanted.override)
        changed = _write_fields(tx, project, slug, fields)
        changed += _write_edges(tx, wanted)
        changed += _write_tags(tx, wanted)
        tx.note(fields=sorted(fields), after=edges, tags=tags)
        return Edited(project=project, task=slug, slug=slug, changed=bool(changed), fields=sorted(fields))

    return Change(f"edit {project}/{slug}", work, *_request_fields(wanted), returns=Edited)


def _request_fields(wanted: Edit) -> tuple[object, ...]:
    """Return the edit's fields that are the same when the request is repeated: all but a time relative to now ("in 2 hours")."""
    asked = wanted if wanted.not_before_said is None else wanted._replace(not_before=None)
    return *asked._replace(clear=frozenset()), *sorted(wanted.clear)


def _new_values(wanted: Edit) -> dict[str, object]:
    """Return the columns of the task to change, each with its checked new value; None empties a column."""
    given = {
        "title": None if wanted.title is None else texts.title(wanted.title),
        "description": None if wanted.description is None else texts.maybe("description", wanted.description),
        "priority": wanted.priority,
        "not_before": wanted.not_before,
        "verify": None if wanted.verify is None else texts.line("verify command", wanted.verify),
        "engine": None if wanted.engine is None else names.engine(wanted.engine),
        "model": None if wanted.model is None else names.model(wanted.model),
    }
    values = {name: value for name, value in given.items() if value is not None}
    return values | {name: None for name in _CLEARABLE if name in wanted.clear}


def _supersede_assignee(tx: Tx, project: str, slug: str, was: TaskState, *, override: bool) -> None:
    """Reopen a task that somebody else works on. Raises NeedsOverride without `override`.

    Do nothing when nobody or the caller works on the task, or when its work waits for review or merge.
    """
    if fence.holder(was) is None:
        return
    fence.check_person(project, slug, was, tx.caller, override=override)
    if was.assignee != tx.caller.actor and not fence.waits_for_review_or_merge(was):
        tasks.reopen(tx, project, slug, was)
        tx.note(superseded=was.assignee)


def _write_fields(tx: Tx, project: str, slug: str, fields: dict[str, object]) -> int:
    """Write the new values of a task. Return 0 when they are the old ones, else 1."""
    task = q.task_whole(tx, project=project, slug=slug)
    edited = task and task.replaced(**fields)
    if edited is None or edited == task:
        return 0
    return q.edit_task(
        tx,
        project=project,
        slug=slug,
        title=edited.title,
        description=edited.description,
        priority=edited.priority,
        not_before=edited.not_before,
        verify=edited.verify,
        engine=edited.engine,
        model=edited.model,
        at=tx.at,
    )


def _write_edges(tx: Tx, wanted: Edit) -> int:
    """Remove and add dependencies of a task. Return how many were changed.

    Raises DependencyCycle when a task would wait for itself, directly or through others.
    """
    project, slug = wanted.project, wanted.slug
    changed = 0
    for needs in wanted.drop_after:
        changed += q.drop_edge(tx, project=project, slug=slug, needs=needs)
    for needs in wanted.add_after:
        _refuse_cycle(tx, project, slug, needs)
        changed += add_edge(tx, project, slug, needs)
    if changed:
        q.count_blockers(tx, project=project, slug=slug, at=tx.at)
    return changed


def _refuse_cycle(tx: Tx, project: str, slug: str, needs: str) -> None:
    """Raise DependencyCycle when `needs` waits, directly or through others, for the task `slug`."""
    above = graph.needs_of((row.slug, row.needs) for row in q.ancestors(tx, project=project, slug=needs))
    way_back = graph.path_between(above, needs, slug)
    if way_back:
        raise errors.DependencyCycle(cycle=graph.cycle_text([slug, *way_back]))


def _write_tags(tx: Tx, wanted: Edit) -> int:
    """Remove and add tags of a task. Return how many were changed."""
    project, slug = wanted.project, wanted.slug
    dropped = sum(q.drop_tag(tx, project=project, slug=slug, tag=tag) for tag in wanted.drop_tags)
    return dropped + sum(q.add_tag(tx, project=project, slug=slug, tag=tag) for tag in wanted.add_tags)
