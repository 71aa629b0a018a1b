"""Replace: change a project's coordinator, level-triggered around the seat.

The new one is dispatched as the seat's candidate and has to prove itself; that proof is the commit. Without it by the deadline the
candidate is withdrawn, and the old one goes on undisturbed. Retiring the old one is the new holder's duty, tick by tick. Killed
anywhere, the next tick, `coord start` or sweep reads the seat and goes on.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace as changed
from typing import TYPE_CHECKING

from fleet import errors
from fleet.engines.reader import engine as read_engine
from fleet.model.dispatch.remedies import Leave, Press, Withdraw, remedy_for
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.results.coord import Seated
from fleet.model.text.times import SECOND
from fleet.store import queries as q
from fleet.store import seats
from fleet.verbs.dispatch.apply_remedy import apply, withdraw
from fleet.verbs.dispatch.dispatch import dispatch
from fleet.verbs.dispatch.end import end
from fleet.verbs.dispatch.looking import look, look_at_candidate
from fleet.verbs.projects import remote_control

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch, Seat
    from fleet.verbs.context import Context
    from fleet.verbs.dispatch.plan import Wanted

_POLL_SECONDS = 0.1


def replace(context: Context, wanted: Wanted) -> Seated:
    """Change the coordinator, and wait until the new one has proven itself or is withdrawn."""
    candidate = start_candidate(context, wanted)
    return candidate.replaced(epoch=await_proof(context, wanted.project, candidate.id))


def start_candidate(context: Context, wanted: Wanted) -> Seated:
    """Dispatch the candidate. The swap gate is held only for this: what follows is decided by the seat alone."""
    project = wanted.project
    gate = context.world.project_gate(project, "swap")
    gate.take()
    try:
        withdraw_hopeless(context, project)
        seat = context.store.read(lambda rows: seats.seat(rows, project))
        if seat.candidate is not None:
            raise errors.ReplaceInProgress(project=project, candidate=seat.candidate)
        warnings = remote_control.turn_up_if_unset(context, project)
        limit = wanted.proof or proof_limit(context, wanted)
        try:
            candidate = dispatch(context, changed(wanted, predecessor=seat.holder, proof=limit))
        except (errors.FleetError, OSError):
            withdraw_hopeless(context, project)
            raise
        return Seated.made_of(candidate, replaces=seat.holder, warnings=warnings)
    finally:
        gate.give()


def proof_limit(context: Context, wanted: Wanted) -> float:
    """How long a new coordinator may take to prove itself: a program ticks at once, an LLM thinks first."""
    name = wanted.engine or context.setting("engine", wanted.project) or ""
    return read_engine(context.world.home, name).proof_timeout


def await_proof(context: Context, project: str, ident: str) -> int:
    """Wait until the candidate has taken the seat. Returns the seat's new epoch.

    At the deadline, or when the candidate has died, withdraw it and raise NotProven.
    """
    while True:
        seat = context.store.read(lambda rows: seats.seat(rows, project))
        if seat.holder == ident:
            return seat.epoch
        why = "it was withdrawn" if seat.candidate != ident else _why_hopeless(context, seat)
        if why and (seat.candidate != ident or withdraw(context, project, ident, why)):
            seconds = _seconds_allowed(context, ident, seat)
            end_withdrawn(context, ident, why)
            raise errors.NotProven(project=project, dispatch=ident, seconds=seconds, why=why)
        context.world.clock.wait(_POLL_SECONDS)


def _seconds_allowed(context: Context, ident: str, seat: Seat) -> float:
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
    began = row.created_at if row else context.world.clock.now()
    return ((seat.deadline or context.world.clock.now()) - began) / SECOND


def end_withdrawn(context: Context, ident: str, why: str) -> None:
    """What a withdrawn candidate held is released before whoever withdrew it goes on."""
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
    if row is not None and is_unfinished(row):
        with contextlib.suppress(errors.Refused):  # somebody was faster, and it has ended
            end(context, ident, asked_for="kill", reason=f"withdrawn: {why}")


def withdraw_hopeless(context: Context, project: str) -> list[str]:
    """Carry on a Replace that somebody left: withdraw what will not prove itself. Says what was done."""
    candidate, why = hopeless_candidate(context, project)
    if not why or not withdraw(context, project, candidate, why):
        return []
    return [f"withdrew the candidate {candidate}: {why}"]


def hopeless_candidate(context: Context, project: str) -> tuple[str, str]:
    """The seat's candidate, and why it will not prove itself any more; no reason while it may, or when there is none."""
    seat = context.store.read(lambda rows: seats.seat(rows, project))
    return seat.candidate or "", _why_hopeless(context, seat) if seat.candidate else ""


def _why_hopeless(context: Context, seat: Seat) -> str:
    remedy = remedy_for("replace", look_at_candidate(context, seat))
    return remedy.why if isinstance(remedy, Withdraw) else ""


def unseated_coordinators(context: Context, project: str) -> list[Dispatch]:
    """Unfinished coordinators that are neither in the seat nor the next for it."""
    return context.store.read(lambda snapshot: q.other_coordinators(snapshot, project=project))


def retire_unseated(context: Context, project: str) -> list[str]:
    """Coordinators that are not in the seat any more are asked to exit, then killed. Says what was done to each."""
    return [f"{row.id}: {_retire_coordinator(context, row)}" for row in unseated_coordinators(context, project)]


def _retire_coordinator(context: Context, row: Dispatch) -> str:
    remedy = remedy_for("replace", look(context, row, "replace"))
    if isinstance(remedy, Leave):
        return f"left alone: {remedy.why}"
    done = apply(context, row, remedy)
    return "settled" if done.ended and not isinstance(remedy, Press) else done.said
