"""fleet.jobs: jobs over many items."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet.api.actor import Part
from fleet.model.jobs.keys import schema
from fleet.store import queries as q
from fleet.verbs.jobs import begin, cancel, listing
from fleet.verbs.jobs.items import dead_letters, session

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
    from fleet.verbs.jobs.begin import Asked
    from fleet.verbs.jobs.progress import Tell
    from fleet.verbs.jobs.run import Wish

    # `list` is a method of the class below.
    JobViews = list[JobView]
    ItemViews = list[ItemView]


class Jobs(Part):
    """Jobs."""

    __slots__ = ()

    def run(self, asked: Asked, tell: Tell, wanted: Wish = lambda: True) -> JobEnded:
        """Run a job to its end, or for as long as that is wanted."""
        self._by.may("jobs.run")
        return begin.run_job(self._by.context, asked, os.environ, tell, wanted)

    def plan(self, asked: Asked) -> JobPlan:
        """What running it would begin with. Changes nothing."""
        return begin.plan(self._by.context, asked, os.environ)

    def resume(self, ident: str, tell: Tell, wanted: Wish = lambda: True, *, force: bool = False) -> JobEnded:
        """Take a job up where it was left."""
        self._by.may("jobs.resume")
        return begin.resume_job(self._by.context, ident, tell, wanted, force=force)

    def cancel(self, ident: str, reason: str) -> JobCancelled:
        """End a job for good."""
        self._by.may("jobs.cancel")
        return cancel.cancel(self._by.context, ident, reason)

    def named(self, given: str) -> str | None:
        """The job of that id, if it is one."""
        row = self._by.store.read(lambda rows: q.job_by_id(rows, id=given))
        return row.id if row else None

    def find(self, given: str) -> str:
        """The job that is meant."""
        return listing.find_job(self._by.view, given)

    def list(self, project: str | None = None) -> JobViews:
        """Jobs, newest first."""
        return listing.jobs(self._by.view, project)

    def show(self, ident: str) -> JobDetails:
        """How a job stands."""
        return listing.job(self._by.view, ident)

    def items(self, ident: str, state: str | None = None) -> Iterator[ItemView]:
        """The items of a job."""
        return listing.items_of_job(self._by.view, ident, state)

    def item(self, ident: str, given: str) -> ItemDetails:
        """One item, with its failures and steps."""
        return listing.item(self._by.view, ident, given)

    def logs(self, ident: str, item: str | None = None) -> Iterator[StepOutput]:
        """What its steps printed."""
        return listing.logs(self._by.view, ident, item)

    def dead_items(self, ident: str) -> ItemViews:
        """The dead-letter queue."""
        return dead_letters.queue(self._by.view, ident)

    def retry(self, ident: str, which: tuple[str, ...], *, everything: bool = False) -> ItemsRevived:
        """Try items again."""
        self._by.may("jobs.retry")
        return dead_letters.retry(self._by.context, ident, which, everything=everything)

    def drop(self, ident: str, which: tuple[str, ...], *, everything: bool = False) -> ItemsDropped:
        """Give items up."""
        self._by.may("jobs.drop")
        return dead_letters.drop(self._by.context, ident, which, everything=everything)

    def step(self, dispatch: str, project: str, slug: str, show: Callable[[str], None]) -> bool:
        """What the session of an item does."""
        self._by.may("jobs.step")
        return session.perform(self._by.context, dispatch, project, slug, show)


def validate_job(file: str) -> Validation:
    """Everything that is wrong with a document. Needs no home."""
    return begin.validate(file)


def job_schema() -> Document:
    """The document as JSON Schema."""
    return schema()
