"""The words for a job that several views use."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.jobs import JobView


def state_in_words(job: JobView) -> str:
    """Return the state of a job: `interrupted` when its runner died, `waiting` while a held engine keeps it from working."""
    if job.state != "running":
        return job.state
    if not job.runs:
        return "interrupted"
    return "waiting" if job.waits else "running"
