"""Show the seat of a project: which coordinator holds it, and whether that coordinator lives."""

from __future__ import annotations

from fleet.model import names
from fleet.model.dispatch.seat_steps import OWN_LOOP
from fleet.model.dispatch.steps import is_held_by_daemon, is_pending, is_unfinished
from fleet.model.identity import Identity
from fleet.model.results.coord import SeatView, StaleProof
from fleet.model.text.times import iso, iso_or_none
from fleet.store import queries as q
from fleet.store import seats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import SeatState
    from fleet.store.queries import Seat
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Context

_UNWATCHED = "the process that wakes it does not run"


def seat_status(context: Context, project: str) -> SeatView:
    """Return a project's seat: its holder and the holder's state, its candidate, and the coordinators being retired.

    Also lists the one-time proofs (nonces) that were given to coordinators and that none has presented.
    """
    context.project(project)
    seat = context.store.read(lambda rows: seats.seat(rows, project))
    stale = context.store.read(q.stale_nonces)
    return SeatView(
        project=project,
        holder=seat.holder,
        epoch=seat.epoch,
        state=_holder_state(context, seat.holder),
        where=_place_of_holder(context, seat.holder),
        wake_trouble=_wake_trouble(context, seat),
        candidate=seat.candidate,
        deadline=iso_or_none(seat.deadline),
        retiring=[row.id for row in context.store.read(lambda rows: q.other_coordinators(rows, project=project))],
        stale_proofs=[
            StaleProof(dispatch=nonce.dispatch, minted_at=iso(nonce.minted_at))
            for nonce in stale
            if nonce.project == project
        ],
    )


def _place_of_holder(context: Context, ident: str | None) -> str | None:
    """Return where the seat's holder runs (daemon and pid, or session name); None when it has ended or there is none."""
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident or ""))
    if row is None or not is_unfinished(row):
        return None
    process = Identity.parse(row.process or "") if is_held_by_daemon(row) else None
    return f"daemon, pid {process.pid}" if process is not None else names.session(row.id)


def _wake_trouble(context: Context, seat: Seat) -> str | None:
    """Return why the seat's holder cannot be woken; None when nothing is known to be wrong."""
    trouble = context.store.read(lambda rows: _recorded_trouble(rows, seat.project))
    if trouble is not None:
        return trouble
    holder = context.store.read(lambda rows: seats.holder_of(rows, seat.project))
    if holder is None or holder.engine == OWN_LOOP or not is_unfinished(holder):
        return None
    from fleet.verbs.coord.wake import is_unwatched

    return _UNWATCHED if is_unwatched(context, seat.project) else None


def _recorded_trouble(rows: Rows, project: str) -> str | None:
    """Return the recorded reason why the watch cannot wake the seat's holder; None when there is none."""
    wake = q.wake_of(rows, project=project)
    return wake.trouble if wake is not None and seats.is_holder(rows, project, wake.dispatch) else None


def _holder_state(context: Context, ident: str | None) -> SeatState:
    """Return the state of the seat's holder: none, ended, starting, dead before it started, alive, dead or unknown.

    `ident` is the holder's dispatch id, None when the seat is free.
    """
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident or ""))
    if ident is None:
        return "none"
    if row is None or not is_unfinished(row):
        return "ended"
    if is_pending(row):
        from fleet.verbs.dispatch.facts import why_alive

        return "starting" if why_alive(context, row, context.world.tmux.listing()) else "dead before it started"
    return context.world.processes.life(Identity.parse(row.process or ""))
