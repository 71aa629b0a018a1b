"""fleet.jobs: jobs that do the same steps for many items. Each method imports one verb: an item's session needs only its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet.api.actor import Part
from fleet.store import queries as q

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fleet.api.actor import Document
    from fleet.model.results.jobs import (
        ItemDetails,
        ItemsDropped,
        ItemsRevived,
        ItemView,
        JobCancelled,
        JobDetails,
        JobEnded,
        JobPlan,
        JobView,
        StepOutput,
        Validation,
    )
    from fleet.verbs.jobs.begin import JobRequest
    from fleet.verbs.jobs.progress import Tell
    from fleet.verbs.jobs.run import StillWanted

    # `list` is a method of the class below.
    JobViews = list[JobView]
    ItemViews = list[ItemView]


class Jobs(Part):
    """Jobs and their items."""

    __slots__ = ()

    def run(self, asked: JobRequest, tell: Tell, wanted: StillWanted = lambda: True) -> JobEnded:
        """Run a job until it is done, paused, failed or cancelled; the result says which.

        It pauses when `wanted` returns False, or when many items fail alike. A job whose id is known runs again: its
        input is read anew, and items that are done stay done. `tell` is called with each event of its progress. Raise
        ResumeInProgress when another process runs the job.
        """
        from fleet.verbs.jobs import begin

        self._by.may("jobs.run")
        return begin.run_job(self._by.context, asked, os.environ, tell, wanted)

    def plan(self, asked: JobRequest) -> JobPlan:
        """Return the parameters, steps and limits with which the job would run. Changes nothing."""
        from fleet.verbs.jobs import begin

        return begin.plan(self._by.context, asked, os.environ)

    def resume(self, ident: str, tell: Tell, wanted: StillWanted = lambda: True, *, force: bool = False) -> JobEnded:
        """Resume a job where its last runner stopped. With `force`, first stop the process that runs the job.

        `tell`, `wanted` and the result are as in `run`. Raise Refused for a job that is done or cancelled,
        ResumeInProgress when another process runs the job, unless `force` is given.
        """
        from fleet.verbs.jobs import begin

        self._by.may("jobs.resume")
        return begin.resume_job(self._by.context, ident, tell, wanted, force=force)

    def cancel(self, ident: str, reason: str) -> JobCancelled:
        """Cancel a job for good: start nothing more, end its attempts, and remove its worktrees. Its commits are kept.

        If another process runs the job, that process ends the attempts. Raise Refused for a job that is done.
        """
        from fleet.verbs.jobs import cancel

        self._by.may("jobs.cancel")
        return cancel.cancel(self._by.context, ident, reason)

    def named(self, given: str) -> str | None:
        """Return the id `given` when a job has exactly this id; else None."""
        row = self._by.store.read(lambda rows: q.job_by_id(rows, id=given))
        return row.id if row else None

    def find(self, given: str) -> str:
        """Return the id of the job that a person names by its id, the beginning of its id, or @last.

        Raise NoSuchJob when none fits, Ambiguous when several do.
        """
        from fleet.verbs.jobs import listing

        return listing.find_job(self._by.view, given)

    def list(self, project: str | None = None) -> JobViews:
        """Return the jobs, newest first, of one project or of all."""
        from fleet.verbs.jobs import listing

        return listing.jobs(self._by.view, project)

    def show(self, ident: str) -> JobDetails:
        """Return the state and progress of a job."""
        from fleet.verbs.jobs import listing

        return listing.job(self._by.view, ident)

    def items(self, ident: str, state: str | None = None) -> Iterator[ItemView]:
        """Return the items of a job; with `state`, only those in that state."""
        from fleet.verbs.jobs import listing

        return listing.items_of_job(self._by.view, ident, state)

    def item(self, ident: str, given: str) -> ItemDetails:
        """Return one item of a job with its failures and steps. `given` is the item's id or the beginning of it."""
        from fleet.verbs.jobs import listing

        return listing.item(self._by.view, ident, given)

    def logs(self, ident: str, item: str | None = None) -> Iterator[StepOutput]:
        """Return what the steps of a job printed; with `item`, an id or the beginning of one, only for that item."""
        from fleet.verbs.jobs import listing

        return listing.logs(self._by.view, ident, item)

    def dead_items(self, ident: str) -> ItemViews:
        """Return the items in the dead-letter queue of a job."""
        from fleet.verbs.jobs.items import dead_letters

        return dead_letters.queue(self._by.view, ident)

    def retry(self, ident: str, which: tuple[str, ...], *, everything: bool = False) -> ItemsRevived:
        """Put the items `which` of the dead-letter queue back into the job; with `everything`, the whole queue.

        The runner of the job starts them; when no process runs the job, it has to be resumed. Raise Refused for an item
        that is not in the queue, for a job that was cancelled, and while the job runs its reduce steps.
        """
        from fleet.verbs.jobs.items import dead_letters

        self._by.may("jobs.retry")
        return dead_letters.retry(self._by.context, ident, which, everything=everything)

    def drop(self, ident: str, which: tuple[str, ...], *, everything: bool = False) -> ItemsDropped:
        """Give up the items `which` of the dead-letter queue for good; with `everything`, the whole queue.

        They end as skipped, and their worktrees are removed. Uncommitted work is kept in refs. `left` of the result
        says what could not be removed. Raise Refused for an item that is not in the queue.
        """
        from fleet.verbs.jobs.items import dead_letters

        self._by.may("jobs.drop")
        return dead_letters.drop(self._by.context, ident, which, everything=everything)

    def step(self, dispatch: str, project: str, slug: str, show: Callable[[str], None]) -> bool:
        """Perform all steps of a dispatch's item, inside the item's session. Returns whether the item passed.

        `project` and `slug` are those of the item's task; `show` is called with each new piece of the steps' output.
        """
        from fleet.verbs.jobs.items import session

        self._by.may("jobs.step")
        return session.perform(self._by.context, dispatch, project, slug, show)


def validate_job(file: str) -> Validation:
    """Return every fault of a job's document. Needs no fleet home."""
    from fleet.verbs.jobs import begin

    return begin.validate(file)


def job_schema() -> Document:
    """Return the JSON Schema of a job's document."""
    from fleet.model.jobs.keys import schema

    return schema()
