"""Add: a new task, with its dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fleet.errors.absent import NoSuchProject, NoSuchTask
from fleet.errors.refused import DependencyCycle, SlugTaken
from fleet.model import names
from fleet.model.tasks import graph, slugs
from fleet.model.text import texts
from fleet.store import queries as q
from fleet.store.transaction import Change

if TYPE_CHECKING:
    from fleet.store.transaction import Row, Tx


class NewTask(NamedTuple):
    """What somebody wants done."""

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
    not_before_said: str | None = None

    @property
    def asked(self) -> NewTask:
        """What a repetition is known by: the same words. A time that is counted from now is another one each time."""
        return self if self.not_before_said is None else self._replace(not_before=None)


def add(new: NewTask) -> Change[Row]:
    """A new open task; without a slug it gets one from its title."""
    row = row_of(new)
    after = [names.slug(each) for each in dict.fromkeys(new.after)]
    tags = sorted({names.tag(each) for each in new.tags})

    def work(tx: Tx) -> Row:
        if q.project_by_name(tx, name=new.project) is None:
            raise NoSuchProject(project=new.project)
        slug = _insert(tx, new, row)
        tx.about(new.project, slug)
        for needs in after:
            add_edge(tx, new.project, slug, needs)
        for tag in tags:
            q.add_tag(tx, project=new.project, slug=slug, tag=tag)
        q.count_blockers(tx, project=new.project, slug=slug, at=tx.at)
        tx.note(title=row["title"], after=after, tags=tags)
        head = {"project": new.project, "task": slug, "slug": slug, "title": row["title"]}
        return head | {"after": after, "status": "open"}

    return Change(f"add {new.project}/{new.slug or slugs.slug_from(row['title'])}", work, *new.asked)


def add_edge(tx: Tx, project: str, slug: str, needs: str) -> int:
    """Let one task wait for another, which has to be there."""
    if needs == slug:
        raise DependencyCycle(cycle=graph.told([slug, slug]))
    if q.task_exists(tx, project=project, slug=needs) is None:
        raise NoSuchTask(project=project, slug=needs)
    return q.add_edge(tx, project=project, slug=slug, needs=needs)


def row_of(new: NewTask) -> dict[str, Any]:
    """What the store keeps of it, checked."""
    names.project(new.project)
    if new.slug is not None:
        names.slug(new.slug)
    return {
        "project": new.project,
        "title": texts.title(new.title),
        "description": texts.maybe("description", new.description),
        "status": "open",
        "priority": new.priority,
        "not_before": new.not_before,
        "verify": None if new.verify is None else texts.line("verify command", new.verify),
        "engine": None if new.engine is None else names.engine(new.engine),
        **dict.fromkeys(("assignee", "reason", "started_at", "ended_at")),
        **dict.fromkeys(("paused", "archived", "attempts", "open_blockers"), 0),
    }


def _insert(tx: Tx, new: NewTask, row: dict[str, Any]) -> str:
    times = {"added_at": tx.at, "changed_at": tx.at}
    if new.slug is not None:
        if not q.add_task(tx, **row, **times, slug=new.slug):
            raise SlugTaken(project=new.project, slug=new.slug)
        return new.slug
    stem, number = slugs.slug_from(row["title"]), 1
    while not q.add_task(tx, **row, **times, slug=slugs.numbered(stem, number)):
        number += 1
    return slugs.numbered(stem, number)
