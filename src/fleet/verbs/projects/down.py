"""Down: stop the coordinator and the agents of a project, and keep their work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.results.projects import Down
from fleet.store import queries as q
from fleet.verbs.coord import seat
from fleet.verbs.dispatch.end import end

if TYPE_CHECKING:
    from fleet.verbs.context import Context

_MOST_JOBS = 1_000
_RUNNING_JOB = "running"


def down(context: Context, project: str) -> Down:
    """End the coordinator first, so that it starts nobody again, then stop every agent. All of them can be resumed.

    Safe to repeat: who was interrupted says it again. What could not be ended is in `left`, with the reason.
    """
    coordinator, left = _stop_coordinator(context, project)
    stopped = stop_all(context, project, reason="fleet down")
    jobs = [
        f"job {ident} still runs: `fleet job cancel {ident} -r TEXT` ends it"
        for ident in running_jobs(context, project)
    ]
    return stopped.replaced(coordinator=coordinator, left=[*left, *stopped.left, *jobs])


def stop_all(context: Context, project: str, *, reason: str) -> Down:
    """Stop every agent of a project that works on a task; their work is kept."""
    rows = context.store.read(lambda snapshot: q.listed_dispatches(snapshot, project=project, ended=0))
    stopped, left = [], []
    for row in rows:
        if row.slug is None:
            continue
        why = _stop(context, row.id, reason)
        stopped += [] if why else [row.id]
        left += [f"agent {row.id} of {row.slug}: {why}"] if why else []
    return Down(project=project, coordinator=None, stopped=stopped, left=left)


def running_jobs(context: Context, project: str) -> list[str]:
    """Return the jobs of a project that have not ended."""
    rows = context.store.read(lambda snapshot: q.listed_jobs(snapshot, project=project, most=_MOST_JOBS))
    return [row.id for row in rows if row.state == _RUNNING_JOB]


def _stop_coordinator(context: Context, project: str) -> tuple[str | None, list[str]]:
    """Return the id of the coordinator that was ended, and why one was not."""
    try:
        ended = seat.stop(context, project, "fleet down")
    except errors.NoCoordinator:
        return None, []
    except errors.OtherHost as error:
        return None, [error.spoken]
    return (ended.id, []) if ended.stopped else (None, [f"coordinator {ended.id}: {ended.why}"])


def _stop(context: Context, ident: str, reason: str) -> str:
    """Stop an agent; return why it has not ended, empty when it has."""
    try:
        ended = end(context, ident, asked_for="stop", reason=reason)
    except (errors.Refused, errors.Contested, errors.Superseded) as error:
        now = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
        return "" if now is None or now.ended_at is not None else error.spoken
    return "" if ended.settled else ended.why or "it was asked to exit and is not ended yet"
