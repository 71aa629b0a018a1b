"""Tend a project's agents: settle those that have ended, ask those that have reported to exit. Never waits for an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.dispatch.remedies import remedy_for
from fleet.store import queries as q
from fleet.verbs.dispatch import leftover_processes
from fleet.verbs.dispatch.apply_remedy import apply
from fleet.verbs.dispatch.facts import gather_facts
from fleet.verbs.homes.ownership import is_own
from fleet.verbs.merge.merge import finish_dead_merge

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch
    from fleet.verbs.context import Context
    from fleet.world.process.census import Census
    from fleet.world.tmux import Listing


# Errors that end a tick: the coordinator has lost its seat, or its home has another store.
TICK_ENDING_ERRORS = (errors.NotSeated, errors.SpeakerEnded, errors.StoreReplaced)
# Record a child process of an agent when it is this many seconds old; not sooner, because each record causes another tick.
_RECORD_AFTER = 5.0


def tend_dispatches(context: Context, project: str, troubles: list[str]) -> list[str]:
    """Settle each agent of a project that has ended, and end each that should have exited.

    Coordinators and the agents of other homes are left alone. Returns a line for people for each agent that was settled
    or asked to exit, or that could not be ended. An error about one agent is added to `troubles`, and the next agent is
    tended; the errors `TICK_ENDING_ERRORS` are raised.
    """
    rows = context.store.read(lambda snapshot: q.listed_dispatches(snapshot, project=project, ended=0))
    listing, census = context.world.tmux.listing(), context.world.processes.census() if rows else None
    own = [row for row in rows if row.kind != "coord" and is_own(context, row)]
    lines = []
    for row in own:
        try:
            action = _tend_dispatch(context, row, listing, census)
        except TICK_ENDING_ERRORS:
            raise
        except (errors.FleetError, OSError) as error:
            why = error.spoken if isinstance(error, errors.WorktreeBusy) else error
            troubles.append(f"{row.id} of {row.slug}: {why}")
            continue
        lines += [f"{row.id} ({row.kind} of {row.slug}): {action}"] if action else []
    return lines


def _tend_dispatch(context: Context, row: Dispatch, listing: Listing, census: Census | None) -> str:
    """Decide and apply what a tick may do to one dispatch.

    Return a line for people when it was ended, was asked to exit, or is still there after an attempt to end it; else
    "". Raise WorktreeBusy when it cannot be settled, because a process is in its worktree or carries its id, and fleet
    cannot tell who started that process. If `census` is None, the processes are read when needed.
    """
    seen = gather_facts(context, row, "tick", listing=listing, census=census)
    if seen.condition == "alive":
        leftover_processes.record_descendants(context, row, census, lasting=_RECORD_AFTER)
    applied = apply(context, row, remedy_for("tick", seen))
    if applied.strangers:
        raise errors.WorktreeBusy(project=row.project, slug=row.slug, who=applied.strangers, way=applied.way)
    if applied.ended:
        finish_dead_merge(context, row)
    is_notable = applied.ended or applied.said == "asked to exit" or applied.said.startswith("still there")
    return applied.said if is_notable else ""
