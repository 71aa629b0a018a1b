"""Add a task with its dependencies and tags."""

from __future__ import annotations

from fleet import errors
from fleet.model import names
from fleet.model.results.tasks import Added
from fleet.model.results.value import Value
from fleet.model.tasks import graph, slugs
from fleet.model.text import texts
from fleet.store import queries as q
from fleet.store.transaction import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from fleet.store.transaction import Rows, Tx

    class TaskFields(TypedDict, total=False):
        """The fields of `NewTask` that a caller may leave out."""

        slug: str | None
        description: str
        priority: int | None
        after: tuple[str, ...]
        tags: tuple[str, ...]
        not_before: int | None
        verify: str | None
        engine: str | None
        model: str | None
        not_before_said: str | None


class NewTask(Value):
    """The fields of a task that is to be added. None or '' in a field means that the task has none.

    Without a `slug`, the task gets one made from its title. `after` are the slugs of the tasks that it waits for.
    `not_before` is a time in milliseconds; `not_before_said` is how the person wrote it, if relative ("in 2 hours").
    """

    project: str
    title: str
    slug: str | None = None
    description: str = ""
    priority: int = 0
    after: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    not_before: int | None = None
    verify: str | None = None
    engine: str | None = None
    model: str | None = None
    not_before_said: str | None = None

    @property
    def request_fields(self) -> tuple[object, ...]:
        """The task's fields that are the same when the request is repeated: all but a time relative to now ("in 2 hours")."""
        asked = self if self.not_before_said is None else self.replaced(not_before=None)
        return tuple(asked.as_json().values())


def add(new: NewTask) -> Change[Added]:
    """Return the change that adds an open task. A task without a slug gets one made from its title.

    Raises BadInput for a name or text that the store cannot keep. Committing it raises NoSuchProject, SlugTaken,
    NoSuchTask for a missing dependency, or DependencyCycle for a task that waits for itself.
    """
    task = checked_task(new)
    after = [names.slug(each) for each in dict.fromkeys(new.after)]
    tags = sorted({names.tag(each) for each in new.tags})

    def work(tx: Tx) -> Added:
        if q.project_by_name(tx, name=new.project) is None:
            raise errors.NoSuchProject(project=new.project)
        slug = _insert_with_slug(tx, task)
        tx.about(new.project, slug)
        for needs in after:
            add_edge(tx, new.project, slug, needs)
        for tag in tags:
            q.add_tag(tx, project=new.project, slug=slug, tag=tag)
        q.count_blockers(tx, project=new.project, slug=slug, at=tx.at)
        tx.note(title=task.title, after=after, tags=tags)
        return Added(project=new.project, task=slug, slug=slug, title=task.title, after=after)

    return Change(
        f"add {new.project}/{new.slug or slugs.slug_from(task.title)}", work, *new.request_fields, returns=Added
    )


def free_slug(rows: Rows, new: NewTask) -> str:
    """Return the slug that a task without one would get if it were added now."""
    stem, number = slugs.slug_from(texts.title(new.title)), 1
    while q.task_exists(rows, project=new.project, slug=slugs.numbered_slug(stem, number)) is not None:
        number += 1
    return slugs.numbered_slug(stem, number)


def add_edge(tx: Tx, project: str, slug: str, needs: str) -> int:
    """Make the task `slug` wait for the existing task `needs`. Returns 1, or 0 when it already waited for that task.

    Raises NoSuchTask when `needs` does not exist, DependencyCycle when it is `slug` itself. Longer cycles are for the
    caller to find.
    """
    if needs == slug:
        raise errors.DependencyCycle(cycle=graph.cycle_text([slug, slug]))
    if q.task_exists(tx, project=project, slug=needs) is None:
        raise errors.NoSuchTask(project=project, slug=needs)
    return q.add_edge(tx, project=project, slug=slug, needs=needs)


def checked_task(new: NewTask) -> NewTask:
    """Return the task with cleaned texts. Raises BadInput for a name or text that the store cannot keep."""
    names.project(new.project)
    if new.slug is not None:
        names.slug(new.slug)
    return new.replaced(
        title=texts.title(new.title),
        description=texts.maybe("description", new.description),
        verify=None if new.verify is None else texts.line("verify command", new.verify),
        engine=None if new.engine is None else names.engine(new.engine),
        model=None if new.model is None else names.model(new.model),
    )


def insert_task(tx: Tx, task: NewTask, slug: str, *, added_at: int) -> bool:
    """Insert a checked task under a slug.

    `added_at` is in milliseconds. Return False when the project already has a task with this slug.
    """
    inserted = q.add_task(
        tx,
        project=task.project,
        slug=slug,
        title=task.title,
        description=task.description,
        status="open",
        priority=task.priority,
        not_before=task.not_before,
        verify=task.verify,
        engine=task.engine,
        model=task.model,
        assignee=None,
        reason=None,
        paused=0,
        archived=0,
        attempts=0,
        open_blockers=0,
        added_at=added_at,
        changed_at=tx.at,
        started_at=None,
        ended_at=None,
    )
    return inserted == 1


def _insert_with_slug(tx: Tx, task: NewTask) -> str:
    """Insert a task under its own slug, or under the first free slug made from its title. Return the slug.

    Raise SlugTaken when another task of the project has the task's own slug.
    """
    if task.slug is not None:
        if not insert_task(tx, task, task.slug, added_at=tx.at):
            raise errors.SlugTaken(project=task.project, slug=task.slug)
        return task.slug
    stem, number = slugs.slug_from(task.title), 1
    while not insert_task(tx, task, slugs.numbered_slug(stem, number), added_at=tx.at):
        number += 1
    return slugs.numbered_slug(stem, number)
