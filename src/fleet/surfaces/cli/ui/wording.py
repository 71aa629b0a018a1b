"""Words that several views use: for the state of a job, and for an engine that is held back."""

from __future__ import annotations

from fleet.model.text.times import iso, utc

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


def held_in_words(until: str | None, now: int) -> str:
    """Say how long an engine is held back, after its name. A limit whose time has passed is tried by the next agent."""
    if until is None:
        return "is held back until somebody logs in"
    is_over = until <= iso(now)  # both have the same form, so that the order of the texts is the order of the times
    return "is tried by the next agent, after its limit" if is_over else f"is held back until {utc(until)}"
