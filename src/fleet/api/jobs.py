"""class Jobs: Fleet, and jobs over many items. Apart, because reading YAML is loaded only where it is needed."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from fleet.api.fleet import Fleet
from fleet.model.jobs.keys import schema
from fleet.verbs.jobs import begin, cancel, listing
from fleet.verbs.jobs.items import dead_letters, session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fleet.verbs.jobs.begin import Asked
    from fleet.verbs.jobs.progress import Tell
    from fleet.verbs.jobs.run import Wish

Document = dict[str, Any]


class Jobs(Fleet):
    """Everything, and jobs."""

    def run_job(self, asked: Asked, tell: Tell, wanted: Wish = lambda: True) -> Document:
        """Run a job to its end, or for as long as that is wanted."""
        self.may("run_job")
        return begin.run_job(self.ground, asked, os.environ, tell, wanted)

    def plan_job(self, asked: Asked) -> Document:
        """What running it would begin with. Changes nothing."""
        new, workflow = begin.prepare(self.ground, asked, os.environ)
        steps = {part: [each.title for each in workflow.steps_of(part)] for part in ("setup", "map", "reduce")}
        head: Document = {"name": new.name, "project": new.project, "steps": steps}
        head["parameters"] = listing.shown_parameters(new.source, json.dumps(new.parameters))
        how = {name: getattr(workflow.map, name) for name in ("source", "max_parallel", "isolation", "on_failure")}
        return head | how | {"attempts": workflow.map.retry.attempts}

    def resume_job(self, ident: str, tell: Tell, wanted: Wish = lambda: True, *, force: bool = False) -> Document:
        """Take a job up where it was left."""
        self.may("resume_job")
        return begin.resume_job(self.ground, ident, tell, wanted, force=force)

    def cancel_job(self, ident: str, reason: str) -> Document:
        """End a job for good."""
        self.may("cancel_job")
        return cancel.cancel(self.ground, ident, reason)

    def find_job(self, given: str) -> str:
        """The job that is meant."""
        return listing.find_job(self.view, given)

    def jobs(self, project: str | None = None) -> list[Document]:
        """Jobs, newest first."""
        return listing.jobs(self.view, project)

    def job(self, ident: str) -> Document:
        """How a job stands."""
        return listing.job(self.view, ident)

    def items(self, ident: str, state: str | None = None) -> Iterator[Document]:
        """The items of a job."""
        return listing.listed(self.view, ident, state)

    def item(self, ident: str, given: str) -> Document:
        """One item, with its failures and steps."""
        return listing.item(self.view, ident, given)

    def job_logs(self, ident: str, item: str | None = None) -> Iterator[tuple[str, str]]:
        """What its steps printed."""
        return listing.logs(self.view, ident, item)

    def dead_items(self, ident: str) -> list[Document]:
        """The dead-letter queue."""
        return dead_letters.queue(self.view, ident)

    def retry_items(self, ident: str, which: tuple[str, ...], *, everything: bool = False) -> Document:
        """Try items again."""
        self.may("retry_items")
        return dead_letters.retry(self.ground, ident, which, everything=everything)

    def drop_items(self, ident: str, which: tuple[str, ...], *, everything: bool = False) -> Document:
        """Give items up."""
        self.may("drop_items")
        return dead_letters.drop(self.ground, ident, which, everything=everything)

    def job_step(self, dispatch: str, project: str, slug: str, show: Callable[[str], None]) -> bool:
        """What the session of an item does."""
        self.may("job_step")
        return session.perform(self.ground, dispatch, project, slug, show)


def validate_job(file: str) -> Document:
    """Everything that is wrong with a document. Needs no home."""
    return begin.validate(file)


def job_schema() -> Document:
    """The document as JSON Schema."""
    return schema()
