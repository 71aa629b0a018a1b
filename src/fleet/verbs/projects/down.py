"""Down: stop the coordinator and the agents of a project, and keep their work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.identity import Identity
from fleet.model.results.projects import Down
from fleet.model.states import assert_never
from fleet.store import queries as q
from fleet.verbs.coord import seat
from fleet.verbs.dispatch.end import end
from fleet.verbs.jobs.abandoned import ALL_JOBS
from fleet.verbs.sweep.derived_files import reconcile_coord_state

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch
    from fleet.verbs.context import Context

_RUNNING_JOB = "running"


def down(context: Context, project: str) -> Down:
    """End a project's coordinator, so that it starts no new agents, then stop the project's agents.

    The agents can be resumed. Jobs are not stopped. Safe to repeat after an interruption. `left` of the result says
    what could not be ended or still runs, and why.
    """
    coordinator, left = _stop_coordinator(context, project)
    stopped = stop_all(context, project, reason="fleet down")
    reconcile_coord_state(context, write=True)  # no coordinator is left whose tick would write it
    jobs = [
        f"job {ident} still runs: `fleet job cancel {ident} -r TEXT` ends it"
        for ident in running_jobs(context, project)
    ]
    return stopped.replaced(coordinator=coordinator, left=[*left, *stopped.left, *jobs])


def stop_all(context: Context, project: str, *, reason: str) -> Down:
    """Stop every agent of a project that works on a task; their work is kept. Return which stopped, and what is left.

    A merge or rehearsal may be a person's own command: it is settled when its process is dead, and left alone when it
    runs or nobody can tell whether it runs.
    """
    rows = context.store.read(lambda snapshot: q.listed_dispatches(snapshot, project=project, ended=0))
    stopped, left = [], []
    for row in rows:
        if row.slug is None:
            continue
        is_merge = row.kind == "finisher"
        why = _running_merge(context, row) if is_merge else ""
        is_stopped, why = (False, why) if why else _stop_agent(context, row.id, reason)
        stopped += [row.id] if is_stopped and not is_merge else []
        left += [f"{'merge' if is_merge else 'agent'} {row.id} of {row.slug}: {why}"] if why else []
    return Down(project=project, coordinator=None, stopped=stopped, left=left)


def running_jobs(context: Context, project: str) -> list[str]:
    """Return the ids of the jobs of a project that are running."""
    rows = context.store.read(lambda snapshot: q.unfinished_jobs(snapshot, most=ALL_JOBS))
    return [row.id for row in rows if row.project == project and row.state == _RUNNING_JOB]


def _stop_coordinator(context: Context, project: str) -> tuple[str | None, list[str]]:
    """Stop the project's coordinator as a part of `fleet down`.

    Returns (its id, []) when it was ended; (None, [the reason]) when it was not; (None, []) when the project has no
    coordinator.
    """
    try:
        ended = seat.stop(context, project, "fleet down")
    except errors.NoCoordinator:
        return None, []
    except errors.OtherHost as error:
        return None, [error.spoken]
    return (ended.id, []) if ended.stopped else (None, [f"coordinator {ended.id}: {ended.why}"])


def _running_merge(context: Context, row: Dispatch) -> str:
    """Return why `fleet down` leaves a merge running; "" when its process is dead."""
    process = Identity.parse(row.process or "")
    life = context.world.processes.life(process)
    match life:
        case "dead":
            return ""
        case "alive":
            where = f" in process {process.pid}" if process else ""
            return f"it runs{where}; let it end, or interrupt it there"
        case "unknown":
            return "nobody can tell whether it runs"
        case _:
            return assert_never(life)


def _stop_agent(context: Context, ident: str, reason: str) -> tuple[bool, str]:
    """Stop an agent. Return whether this stopped it, and why it has not ended; "" when it has, also by itself."""
    try:
        ended = end(context, ident, asked_for="stop", reason=reason)
    except (errors.Refused, errors.Contested, errors.Superseded) as error:
        now = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
        return False, "" if now is None or now.ended_at is not None else error.spoken
    return ended.settled, "" if ended.settled else ended.why or "it was asked to exit and is not ended yet"
