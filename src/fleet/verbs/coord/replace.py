"""Replace a project's coordinator.

The new coordinator is dispatched as the seat's candidate. Its proof makes it the holder. If the proof does not come by the
deadline, the candidate is withdrawn and the old coordinator stays. The ticks of the new holder retire the old one. If fleet
is killed at any point, the next tick, `coord start` or sweep reads the seat and continues.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace as changed
from typing import TYPE_CHECKING

from fleet import errors
from fleet.engines.reader import engine as read_engine
from fleet.model.dispatch.remedies import Dismiss, Leave, Press, Withdraw, remedy_for
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.results.coord import Seated
from fleet.model.settings.engine_choices import engine_choices
from fleet.model.text.times import SECOND
from fleet.store import queries as q
from fleet.store import seats
from fleet.verbs.coord.daemon_duty import start_coordinator
from fleet.verbs.dispatch.apply_remedy import apply, withdraw
from fleet.verbs.dispatch.end import end
from fleet.verbs.dispatch.facts import facts_about_candidate, gather_facts
from fleet.verbs.projects import remote_control
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch, Seat
    from fleet.verbs.context import Context
    from fleet.verbs.dispatch.plan import Wanted

_POLL_SECONDS = 0.1


def replace(context: Context, wanted: Wanted, *, after: str | None = None) -> Seated:
    """Replace a project's coordinator and wait for the new one's proof. Raises NotProven when no proof comes in time.

    With `after`, raises NotSeated when that coordinator does not hold the seat. Returns the new holder, with the seat's new
    epoch (a number that grows with each holder).
    """
    candidate = start_candidate(context, wanted, after=after)
    return candidate.replaced(epoch=await_proof(context, wanted.project, candidate.id))


def start_candidate(context: Context, wanted: Wanted, *, after: str | None = None) -> Seated:
    """Dispatch a new coordinator as the seat's candidate.

    Returns the candidate, with the present holder in `replaces`. Raises ReplaceInProgress when the seat has a candidate
    already, GateHeld while another process dispatches one and, with `after`, NotSeated when that coordinator does not
    hold the seat. When the dispatch fails, a candidate that was recorded is withdrawn.
    """
    project = wanted.project
    # Hold the gate only while the candidate is dispatched: after that, the row of the seat decides.
    gate = context.world.project_gate(project, "swap")
    gate.take()
    try:
        context.world.files.refuse_blocked(paths.INBOX)
        withdraw_hopeless(context, project)
        seat = context.store.read(lambda rows: seats.seat(rows, project))
        if seat.candidate is not None:
            raise errors.ReplaceInProgress(project=project, candidate=seat.candidate)
        warnings = remote_control.turn_up_if_unset(context, project)
        limit = wanted.proof or proof_limit(context, wanted)
        try:
            candidate = start_coordinator(context, changed(wanted, predecessor=after or seat.holder, proof=limit))
        except (errors.FleetError, OSError):
            withdraw_hopeless(context, project)
            raise
        return Seated.made_of(candidate, replaces=seat.holder, warnings=warnings)
    finally:
        gate.give()


def proof_limit(context: Context, wanted: Wanted) -> float:
    """Return how many seconds a new coordinator has to prove itself: the longest limit of the engines it may run on."""
    names = (wanted.engine,) if wanted.engine else engine_choices(context.settings(wanted.project).engine)
    return max(read_engine(context.world.home, name).proof_timeout for name in names or ("",))


def await_proof(context: Context, project: str, ident: str) -> int:
    """Wait until the candidate holds the seat; return the seat's new epoch (a number that grows with each holder).

    At the deadline, or when the candidate has died, withdraw the candidate, kill it and raise NotProven; also when
    another process has withdrawn it.
    """
    deadline = None
    while True:
        seat = context.store.read(lambda rows: seats.seat(rows, project))
        if seat.holder == ident:
            return seat.epoch
        is_withdrawn = seat.candidate != ident
        if not is_withdrawn:  # else the deadline is that of the next candidate
            deadline = seat.deadline
        why = "it was withdrawn" if is_withdrawn else _why_hopeless(context, seat)
        if why and (is_withdrawn or withdraw(context, project, ident, why)):
            seconds = _seconds_allowed(context, ident, deadline)
            end_withdrawn(context, ident, why)
            raise errors.NotProven(project=project, dispatch=ident, seconds=seconds, why=why)
        context.world.clock.wait(_POLL_SECONDS)


def _seconds_allowed(context: Context, ident: str, deadline: int | None) -> float:
    """Return how many seconds a candidate had to prove itself: from its dispatch to its deadline in milliseconds.

    With None as the deadline, return the seconds until now.
    """
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
    began = row.created_at if row else context.world.clock.now()
    return ((deadline or context.world.clock.now()) - began) / SECOND


def end_withdrawn(context: Context, ident: str, why: str) -> None:
    """Kill a withdrawn candidate and release its claims. Do nothing when the candidate has ended."""
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
    if row is not None and is_unfinished(row):
        with contextlib.suppress(errors.Refused):  # it has ended meanwhile
            end(context, ident, asked_for="kill", reason=f"withdrawn: {why}")


def withdraw_hopeless(context: Context, project: str) -> list[str]:
    """Withdraw the seat's candidate if it can no longer prove itself. Its agent lives on: see `retire_unseated`.

    Returns a line for people if it was withdrawn, else an empty list.
    """
    candidate, why = hopeless_candidate(context, project)
    if not why or not withdraw(context, project, candidate, why):
        return []
    return [f"withdrew the candidate {candidate}: {why}"]


def hopeless_candidate(context: Context, project: str) -> tuple[str, str]:
    """Return the seat's candidate and why it can no longer prove itself.

    The candidate is "" when there is none, the reason "" while the candidate can still prove itself.
    """
    seat = context.store.read(lambda rows: seats.seat(rows, project))
    return seat.candidate or "", _why_hopeless(context, seat) if seat.candidate else ""


def _why_hopeless(context: Context, seat: Seat) -> str:
    """Return why the seat's candidate has to be withdrawn; "" when it may still prove itself."""
    remedy = remedy_for("replace", facts_about_candidate(context, seat))
    return remedy.why if isinstance(remedy, Withdraw) else ""


def unseated_coordinators(context: Context, project: str) -> list[Dispatch]:
    """Return the unfinished coordinators of a project that are neither the seat's holder nor its candidate."""
    return context.store.read(lambda snapshot: q.other_coordinators(snapshot, project=project))


def retire_unseated(context: Context, project: str) -> list[str]:
    """Retire each coordinator that has lost the seat: a first call asks it to exit, a later call kills it.

    Returns a line for people for each coordinator.
    """
    return [f"{row.id}: {_retire_coordinator(context, row)}" for row in unseated_coordinators(context, project)]


def _retire_coordinator(context: Context, row: Dispatch) -> str:
    """Apply the next remedy to a coordinator that has lost the seat. Returns what was done, for people."""
    remedy = remedy_for("replace", gather_facts(context, row, "replace"))
    if isinstance(remedy, Leave):
        return f"left alone: {remedy.why}"
    applied = apply(context, row, remedy)
    return "settled" if applied.ended and not isinstance(remedy, Press | Dismiss) else applied.said
