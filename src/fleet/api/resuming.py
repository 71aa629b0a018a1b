"""What can be resumed: work that ended before its time."""

from __future__ import annotations

from typing import Any

from fleet.api.coordinating import Coordinating
from fleet.api.permits import refuse_forced
from fleet.store import queries as q
from fleet.verbs.resume import resume, resume_all

Document = dict[str, Any]


class Resuming(Coordinating):
    """Resumes agents."""

    def resume(self, given: str, *, project: str | None = None, force: bool = False) -> Document:
        """Go on with the work of a dispatch, session or task. Force stops a resume that is in progress."""
        if (speaker := self.may("resume")) is not None:
            meant = resume.journal(self.ground, resume.named(self.ground, given, project))
            self.may("resume", project=meant["project"])
            refuse_forced(speaker, "resume", force=force)
        return resume.resume(self.ground, given, project=project, force=force)

    def job_named(self, given: str) -> str | None:
        """The job of that id, if it is one."""
        row = self.store.read(lambda rows: rows.one(q.JOB_BY_ID, id=given))
        return row["id"] if row else None

    def resumable(self, project: str | None = None) -> list[Document]:
        """What could be resumed, and why it ended."""
        return resume_all.resumable(self.ground, project)

    def resume_all(self, project: str | None = None) -> Document:
        """Bring back everything that was interrupted, within the limits."""
        self.may("resume_all")
        return resume_all.resume_all(self.ground, project)
