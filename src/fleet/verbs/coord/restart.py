"""Start fleet's own coordinator loop again when it has died: only a few times in a row, and not after `coord stop`.

The process that notices the death decides, counts the attempt in the store, and then starts `fleet coord start --after`
in the background. That command does nothing when the dead coordinator no longer holds the seat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.model.dispatch.seat_steps import is_own_loop, may_restart, restarts_so_far
from fleet.model.dispatch.steps import is_held_by_daemon, is_unfinished
from fleet.store import queries as q
from fleet.store import seats
from fleet.store.transaction import Change
from fleet.verbs.dispatch.apply_remedy import decide_and_apply
from fleet.verbs.dispatch.journal import dispatch_or_none
from fleet.verbs.homes.ownership import is_own

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch, Restarts, Seat
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context

# The gate that a process holds while it starts a coordinator of the project.
SPAWN_GATE = "coord-spawn"


def restart_dead_loops(context: Context, *, except_project: str | None = None) -> list[str]:
    """Start fleet's own coordinator again in each project where it has died, except in `except_project`.

    It is not started where it has died too often in a row. Returns a line for people for each coordinator that is
    started.
    """
    others = [seat for seat in context.store.read(q.all_seats) if seat.project != except_project]
    again = [seat.project for seat in others if _restart(context, seat)]
    return [f"started the coordinator of {project} again: it had died" for project in again]


def restart_if_dead_loop(context: Context, project: str) -> None:
    """Start a project's coordinator again if it was fleet's own loop and died, unless it died too often in a row."""
    _restart(context, context.store.read(lambda rows: seats.seat(rows, project)))


def forget_restarts(context: Context, project: str) -> None:
    """Reset the count of restarts of a project's coordinator, because a person starts a coordinator now."""
    if context.store.read(lambda rows: q.restarts_of(rows, project=project)) is None:
        return

    def work(tx: Tx) -> None:
        tx.about(project)
        q.remove_restarts(tx, project=project)

    context.commit(Change(f"forget how often the coordinator of {project} was started again", work))


def _restart(context: Context, seat: Seat) -> bool:
    """Start a seat's coordinator again if it is fleet's own loop, has died, and the limit of restarts allows it.

    Returns whether it was started.
    """
    row = _dead_loop(context, seat)
    if row is None or row.launched_at is None or row.ended_at is None:
        return False
    ran, now, most = row.ended_at - row.launched_at, context.world.clock.now(), context.settings().limits_failed_spawns
    last = context.store.read(lambda rows: q.restarts_of(rows, project=seat.project))
    if not may_restart(last, holder=row.id, ran=ran, now=now, most=most):
        return False
    if not context.world.project_gate(seat.project, SPAWN_GATE).is_free():
        return False
    if not context.commit(_count_restart(seat.project, row.id, last, restarts_so_far(last, row.id, ran) + 1)):
        return False
    context.world.start_fleet("coord", "start", "-p", seat.project, "--after", row.id)
    return True


def _dead_loop(context: Context, seat: Seat) -> Dispatch | None:
    """Return the dispatch of the seat's holder if it is fleet's own loop, of this home, that died by itself; else None.

    A dead holder that is not settled yet is settled first. None also in the daemon for a coordinator that it takes over
    itself.
    """
    row = dispatch_or_none(context, seat.holder or "")
    if row is not None and context.world.daemon is not None and is_held_by_daemon(row):
        return None  # this process is the daemon, which takes the seat over by itself
    if row is None or not is_own(context, row) or not is_own_loop(seat, engine=row.engine, asked_for=row.asked_for):
        return None
    if not is_unfinished(row):
        return row
    if not decide_and_apply(context, row, "restart").ended:
        return None
    return dispatch_or_none(context, seat.holder or "")


def _count_restart(project: str, ident: str, last: Restarts | None, tries: int) -> Change[bool]:
    """Return the change that counts a restart of the coordinator `ident`.

    `last` is the count before, None for none; `tries` the new one. Committing it returns False if another process counted
    first, or if the coordinator has lost the seat.
    """

    def work(tx: Tx) -> bool:
        tx.about(project)
        if not seats.is_holder(tx, project, ident):
            return False
        tx.note(holder=ident, tries=tries)
        before = last.at if last is not None else -1
        return q.count_restart(tx, project=project, holder=ident, tries=tries, at=tx.at, before=before) == 1

    return Change(f"start the coordinator of {project} again after {ident}", work)
