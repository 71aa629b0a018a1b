"""Tending the dispatches of a project: settle what has ended, press what should have. Never waits for an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.dispatch.remedies import remedy_for
from fleet.store import queries as q
from fleet.verbs.dispatch import remaining
from fleet.verbs.dispatch.apply_remedy import apply
from fleet.verbs.dispatch.looking import look
from fleet.verbs.homes.ownership import is_own
from fleet.verbs.merge.merge import finish_dead_merge

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch
    from fleet.verbs.context import Context
    from fleet.world.process.census import Census
    from fleet.world.tmux import Listing


# How many seconds a child of an agent has to live before a tick writes it down: each write is followed by another tick.
_LASTING = 5.0


def tend_dispatches(context: Context, project: str, troubles: list[str]) -> list[str]:
    """Each unfinished agent of the project that has ended or outlived its work; coordinators are Replace's. What was done.

    One that cannot be tended does not keep the others from it.
    """
    rows = context.store.read(lambda snapshot: q.listed_dispatches(snapshot, project=project, ended=0))
    listing, census = context.world.tmux.listing(), context.world.processes.census() if rows else None
    mine = [row for row in rows if row.kind != "coord" and is_own(context, row)]
    said = []
    for row in mine:
        try:
            what = _tend(context, row, listing, census)
        except (errors.NotSeated, errors.StoreReplaced):
            raise
        except (errors.FleetError, OSError) as error:
            said_so = error.spoken if isinstance(error, errors.WorktreeBusy) else error
            troubles.append(f"{row.id} of {row.slug}: {said_so}")
            continue
        said += [f"{row.id} ({row.kind} of {row.slug}): {what}"] if what else []
    return said


def _tend(context: Context, row: Dispatch, listing: Listing, census: Census | None) -> str:
    """What was done about one dispatch; empty when nothing was, or when it is given time."""
    seen = look(context, row, "tick", listing=listing, census=census)
    if seen.condition == "alive":
        remaining.record_descendants(context, row, census, lasting=_LASTING)
    done = apply(context, row, remedy_for("tick", seen))
    if done.strangers:
        raise errors.WorktreeBusy(project=row.project, slug=row.slug, who=done.strangers, way=done.way)
    if done.ended:
        finish_dead_merge(context, row)
    return done.said if done.ended or done.said == "asked to exit" or done.said.startswith("still there") else ""
