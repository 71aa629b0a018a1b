"""Start and stop a project's coordinator. Only one process at a time may start one: it holds the coord-spawn gate."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.dispatch.remedies import Leave, remedy_for
from fleet.model.dispatch.steps import is_held_by_daemon, is_pending, is_unfinished
from fleet.model.identity import Identity
from fleet.model.results.coord import Seated, Unseated
from fleet.model.text.times import SECOND, duration
from fleet.store import queries as q
from fleet.store import seats
from fleet.store.transaction import Change
from fleet.verbs.coord.daemon_duty import start_coordinator
from fleet.verbs.coord.replace import end_withdrawn, replace, withdraw_hopeless
from fleet.verbs.coord.restart import SPAWN_GATE, forget_restarts
from fleet.verbs.dispatch.apply_remedy import apply, withdraw
from fleet.verbs.dispatch.end import end
from fleet.verbs.dispatch.facts import gather_facts
from fleet.verbs.homes.ownership import disown_hint, host_named, is_own, owner_of, refuse_foreign
from fleet.verbs.projects import remote_control
from fleet.verbs.sweep.derived_files import reconcile_coord_state
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.identity import Life
    from fleet.store.queries import Dispatch
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.verbs.dispatch.plan import Wanted
    from fleet.world.files.gates import Gate


def coord_spawn(context: Context, wanted: Wanted, *, after: str | None = None) -> Seated:
    """Start a project's coordinator. If the seat's holder is dead, replace it and wait for the new coordinator's proof.

    `after` is given when fleet itself restarts a dead holder: raises NotSeated when that holder has left the seat
    meanwhile. Raises CoordinatorLives when the death of the seat's holder is not proven, CoordSpawnInProgress when
    another process is starting a coordinator of the project, NotProven when the proof does not come in time, BadInput
    when `wanted` names no project.
    """
    if not wanted.project:
        raise errors.BadInput(what="--coord-spawn needs a project: say -p PROJECT")
    gate = take_spawn_gate(context, wanted.project)
    try:
        context.project(wanted.project)
        context.world.files.refuse_blocked(paths.INBOX)
        if after is None:
            forget_restarts(context, wanted.project)
        else:
            _refuse_left_seat(context, wanted.project, after)
        withdraw_hopeless(context, wanted.project)
        if _settle_dead_holder(context, wanted.project):
            return replace(context, wanted, after=after)
        warnings = remote_control.turn_up_if_unset(context, wanted.project)
        return Seated.made_of(start_coordinator(context, wanted), warnings=warnings)
    finally:
        gate.give()


def take_spawn_gate(context: Context, project: str) -> Gate:
    """Take and return the project's coord-spawn gate. Raise CoordSpawnInProgress when another process holds it."""
    gate = context.world.project_gate(project, SPAWN_GATE)
    try:
        gate.take()
    except errors.GateHeld:
        holder = gate.holder()
        raise errors.CoordSpawnInProgress(
            project=project, holder=f"pid={holder.pid}" if holder else "unknown process"
        ) from None
    return gate


def _refuse_left_seat(context: Context, project: str, ident: str) -> None:
    """Raise NotSeated unless the coordinator `ident` still holds the seat."""
    holder = context.store.read(lambda rows: seats.seat(rows, project)).holder
    if holder != ident:
        raise errors.NotSeated(project=project, dispatch=ident, holder=holder or "nobody")


def _settle_dead_holder(context: Context, project: str) -> bool:
    """Settle the seat's holder if it is dead; raise CoordinatorLives if it may live.

    Returns True when the new coordinator has to replace the holder; False when the seat is empty or the holder never
    launched.
    """
    seat = context.store.read(lambda rows: seats.seat(rows, project))
    holder = holder_of(context, project)
    if holder is None:
        return seat.holder is not None
    remedy = remedy_for("dispatch", gather_facts(context, holder, "dispatch"))
    if isinstance(remedy, Leave) and remedy.cause != "ended":
        raise _holder_lives_error(context, project, holder, remedy)
    apply(context, holder, remedy)
    return holder.process is not None


def _holder_lives_error(context: Context, project: str, holder: Dispatch, left: Leave) -> errors.CoordinatorLives:
    """Return the error about a seat's holder that lives, left a running process, or cannot be proven dead from this home."""
    own = is_own(context, holder)
    process = Identity.parse(holder.process or holder.spawner)
    life = context.world.processes.life(process) if own else "unknown"
    far = not own or (life == "unknown" and process is not None and process.host != context.world.host.machine_id)
    advice = _advice(project, holder, left, life=life, far=far)
    return errors.CoordinatorLives(
        project=project,
        life="starting" if own and not far and is_pending(holder) else life,
        dispatch=holder.id,
        host=host_named(context, holder.host) if own else owner_of(context, holder),
        socket=holder.tmux_socket,
        advice=f"{advice}; {disown_hint(holder.id)}" if far else advice,
    )


def _advice(project: str, holder: Dispatch, left: Leave, *, life: Life, far: bool) -> str:
    """Return what a person can do about a seat's holder that was left alone; `far`: it is another home's or machine's."""
    if left.strangers:
        return left.why
    is_launched = not is_pending(holder)  # for a pending holder, `life` is that of the process that was to start it
    if life == "dead" and is_launched and not far:
        return f"{left.why}; `fleet coord stop -p {project}` ends what it left, then start again"
    look = "look at it with `fleet logs" if is_held_by_daemon(holder) else "attach to it with `fleet attach"
    return f"{look} {holder.id}`{' there' if far else ''}"


def holder_of(context: Context, project: str) -> Dispatch | None:
    """Return the dispatch of the coordinator in the seat; None when the seat is empty or the dispatch is archived."""
    seat = context.store.read(lambda rows: seats.seat(rows, project))
    return context.store.read(lambda rows: q.dispatch_by_id(rows, id=seat.holder or ""))


def stop(context: Context, project: str, reason: str) -> Unseated:
    """Withdraw the seat's candidate, end the coordinator and empty the seat. Nothing else empties a seat.

    A candidate that appears or takes the seat meanwhile is withdrawn or ended too. Raises NoCoordinator when the seat
    is empty, OtherHost when its holder or candidate is an unfinished coordinator of another home. When the coordinator
    cannot be settled yet, the result has `stopped` False and the reason in `why`.
    """
    context.project(project)
    while True:
        _refuse_foreign_seat(context, project)
        candidate = context.store.read(lambda rows: seats.seat(rows, project)).candidate
        if candidate is not None and withdraw(context, project, candidate, reason):
            end_withdrawn(context, candidate, reason)
        seat = context.store.read(lambda rows: seats.seat(rows, project))
        if seat.holder is None:
            raise errors.NoCoordinator(project=project)
        why = _end_holder(context, seat.holder, reason)
        if why is not None:
            return Unseated(project=project, id=seat.holder, stopped=False, why=why)
        is_empty, withdrawn = context.commit(_empty_seat(project, seat.holder, reason))
        if withdrawn is not None:
            end_withdrawn(context, withdrawn, reason)
        if is_empty:
            reconcile_coord_state(context, write=True)  # no coordinator is left whose tick would write it
            return Unseated(project=project, id=seat.holder, stopped=True, why="")


def _end_holder(context: Context, ident: str, reason: str) -> str | None:
    """End a coordinator unless it has ended. Returns None when it is settled, else why it is not settled yet."""
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
    if row is None or not is_unfinished(row):
        return None
    ended = end(context, ident, asked_for="kill", reason=reason)
    if is_held_by_daemon(row):
        _await_last_tick(context, row.project)
    return None if ended.settled else ended.why or ""


def _await_last_tick(context: Context, project: str) -> None:
    """Wait until the tick that runs now, if any, has ended, but no longer than the setting `exit_grace`.

    For a coordinator that the daemon played and that was just ended. A tick that runs longer does no harm: its commits
    are refused, because the coordinator has ended.
    """
    gate = context.world.project_gate(project, "coordinator")
    with contextlib.suppress(errors.GateHeld):
        gate.take(wait=duration(context.settings().exit_grace) / SECOND)
        gate.give()


def _refuse_foreign_seat(context: Context, project: str) -> None:
    """Raise OtherHost when the seat's holder or candidate is an unfinished coordinator of another home."""
    seat = context.store.read(lambda rows: seats.seat(rows, project))
    for ident in filter(None, (seat.holder, seat.candidate)):
        row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))  # noqa: B023
        if row is not None and is_unfinished(row):
            refuse_foreign(context, f"coordinator {ident} of {project}", row)


def _empty_seat(project: str, ident: str, reason: str) -> Change[tuple[bool, str | None]]:
    """Return the change that empties the seat of an ended coordinator and withdraws the candidate.

    Committing it returns whether the seat is empty then, and the id of the withdrawn candidate (None for none).
    """

    def work(tx: Tx) -> tuple[bool, str | None]:
        tx.about(project)
        is_empty, withdrawn = seats.empty_seat(tx, project, ident)
        tx.note(seat="empty" if is_empty else "taken", was=ident, withdrawn=withdrawn, reason=reason)
        return is_empty, withdrawn

    return Change(f"the coordinator {ident} of {project} is stopped: {reason}", work)
