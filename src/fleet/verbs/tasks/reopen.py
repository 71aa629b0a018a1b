"""Retry, pause and archive tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import names
from fleet.model.results.tasks import Archived, ArchivedMany, Paused, Reopened
from fleet.model.tasks import fence
from fleet.model.tasks import steps as life
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change

if TYPE_CHECKING:
    from fleet.store.transaction import Tx


def retry(*, project: str, slug: str, anew: bool = False) -> Change[Reopened]:
    """Return the change that opens a blocked or ended task again, and takes it out of the archive.

    A blocked or failed task continues at its stage; with `anew` it begins again with a worker. Committing it raises
    IllegalStep for a task in any other state.
    """
    names.project(project)
    names.slug(slug)

    def work(tx: Tx) -> Reopened:
        tx.about(project, slug)
        was = tasks.state(tx, project, slug)
        fence.step(project, slug, was, "retry")
        tasks.reopen(tx, project, slug, was, anew=anew)
        tx.note(status="open", was=was.status, anew=anew or None)
        return Reopened(project=project, task=slug, was=was.status)

    return Change(f"retry {project}/{slug}", work, anew, returns=Reopened)


def pause(*, project: str, slug: str, paused: bool) -> Change[Paused]:
    """Return the change that pauses a task, or, with `paused` False, ends its pause. A running agent is not stopped."""
    names.project(project)
    names.slug(slug)

    def work(tx: Tx) -> Paused:
        tx.about(project, slug)
        tasks.state(tx, project, slug)
        changed = q.pause_task(tx, project=project, slug=slug, paused=int(paused), at=tx.at)
        tx.note(paused=paused)
        return Paused(project=project, task=slug, paused=paused, changed=changed == 1)

    return Change(f"{'pause' if paused else 'unpause'} {project}/{slug}", work, returns=Paused)


def archive(*, project: str, slug: str) -> Change[Archived]:
    """Return the change that archives an ended task, so that lists leave it out.

    Committing it raises IllegalStep for a task that is not done, failed or abandoned.
    """
    names.project(project)
    names.slug(slug)

    def work(tx: Tx) -> Archived:
        tx.about(project, slug)
        was = tasks.state(tx, project, slug)
        if was.status not in life.TERMINAL:
            advice = "end it first: done, fail or abandon"
            raise errors.IllegalStep(event="archive", project=project, slug=slug, status=was.status, advice=advice)
        changed = q.archive_task(tx, project=project, slug=slug, at=tx.at)
        tx.note(archived=True)
        return Archived(project=project, task=slug, archived=True, changed=changed == 1)

    return Change(f"archive {project}/{slug}", work, returns=Archived)


def archive_ended(*, project: str, age: int) -> Change[ArchivedMany]:
    """Return the change that archives every task of a project that ended at least `age` milliseconds ago.

    The tasks of jobs are left out: a job archives them itself.
    """
    names.project(project)

    def work(tx: Tx) -> ArchivedMany:
        tx.about(project)
        count = q.archive_ended_tasks(tx, project=project, before=tx.at - age, at=tx.at)
        tx.note(archived=count)
        return ArchivedMany(project=project, archived=count)

    return Change(f"archive ended tasks of {project}", work, age, returns=ArchivedMany)


def archive_long_ended(*, project: str, slug: str, before: int) -> Change[list[str]]:
    """Return the change that archives a task if it failed or was abandoned before the time `before` (milliseconds).

    Committing it returns an empty list, or the reason why the task was not archived.
    """

    def work(tx: Tx) -> list[str]:
        tx.about(project, slug)
        changed = q.archive_long_ended_task(tx, project=project, slug=slug, before=before, at=tx.at)
        tx.note(archived=changed == 1)
        return [] if changed else ["it was taken up again meanwhile"]

    return Change(f"archive {project}/{slug}, which ended long ago", work, before)
