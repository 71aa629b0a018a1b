"""Let the daemon play fleet's own coordinator: with the same seat and fences as in a tmux session, but with no session.

The dispatch has no session and no claims, and its process is the daemon's own. One transaction records the dispatch,
launches it and gives it the seat, so that there is nothing to create and nothing to recover. `kill`, `coord stop` and
`coord replace` end such a coordinator in the store alone, and never signal the daemon. A dead daemon is proven dead by
its process identity; the next daemon then settles the dispatch and takes the seat again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.dispatch.one_time_proof import hash_nonce
from fleet.model.dispatch.remedies import Withdraw, is_gone, remedy_for
from fleet.model.dispatch.seat_steps import OWN_LOOP, is_own_loop
from fleet.model.dispatch.steps import EXEC_STEPS, is_held_by_daemon, is_in_flight, owner
from fleet.model.results.dispatches import Dispatched
from fleet.model.tables import change
from fleet.model.text import escapes
from fleet.model.text.times import iso
from fleet.store import queries as q
from fleet.store import seats
from fleet.store.transaction import Change
from fleet.verbs.coord.prove import prove
from fleet.verbs.dispatch.dispatch import dispatch
from fleet.verbs.dispatch.facts import facts_about_candidate, facts_about_end
from fleet.verbs.dispatch.journal import dispatch_or_none
from fleet.verbs.dispatch.settle import LOG_BYTES
from fleet.verbs.homes.ownership import is_own, note_home, note_machine
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.identity import Identity
    from fleet.store.queries import Dispatch, Seat
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.verbs.dispatch.plan import Wanted


def start_coordinator(context: Context, wanted: Wanted) -> Dispatched:
    """Start a coordinator: inside the daemon if one runs and `wanted` asks for fleet's own loop, else in a tmux session.

    Any process may call this. For a coordinator inside the daemon it only records in the store that the daemon's
    process plays it: the daemon reads there which seats it holds. With `wanted.proof`, the new coordinator is the
    seat's candidate; without, it takes the seat, and Contested is raised when the seat is not free.
    """
    daemon = context.world.daemon_process() if wanted.engine == OWN_LOOP else None
    return dispatch(context, wanted) if daemon is None else _hold_seat(context, wanted, daemon)


def _hold_seat(context: Context, wanted: Wanted, daemon: Identity) -> Dispatched:
    """Record a coordinator that the daemon plays, as the seat's holder or candidate. A candidate is made the holder at once."""
    note_machine(context.world)
    world, project = context.world, context.project(wanted.project)
    ident, nonce = world.ids.dispatch(), world.ids.key()
    context.commit(_take_seat(context, wanted, ident, daemon, hash_nonce(nonce)))
    if wanted.proof is not None:
        place = {"project": wanted.project, "ident": ident, "nonce": nonce}
        prove(context.store, world.home, clock=world.clock, ids=world.ids, **place)
    return Dispatched(
        id=ident,
        project=wanted.project,
        task=None,
        kind="coord",
        engine=OWN_LOOP,
        session=None,
        worktree=project.path,
        branch=None,
    )


def _take_seat(context: Context, wanted: Wanted, ident: str, daemon: Identity, proof: str) -> Change[None]:
    """Return the change that records a dispatch as running in the daemon, and as the seat's holder or candidate.

    `proof` is the hash of the nonce with which a candidate proves itself. `ident` is the new dispatch, `daemon` the
    process that plays it. Committing raises Contested when the id is taken, and the errors of `seats.take_seat`.
    """
    world = context.world

    def work(tx: Tx) -> None:
        tx.about(wanted.project)
        tx.dispatch = ident
        if not q.reserve_id(tx, id=ident, at=tx.at):
            raise errors.Contested(what=f"the id {ident} was given out before; try again")
        note_home(tx, world)
        q.add_dispatch(
            tx,
            id=ident,
            kind="coord",
            project=wanted.project,
            slug=None,
            owner=owner(project=wanted.project, slug=None),
            host=world.host.id,
            home=world.record.id,
            tmux_socket=world.tmux.socket,
            at=tx.at,
            spawner=str(world.processes.me()),
            engine=OWN_LOOP,
            predecessor=wanted.predecessor,
            **dict.fromkeys(("server", "base", "autonomy", "model", "command")),
        )
        q.add_agent(tx, id=ident, engine=OWN_LOOP, session="", conversation=None, at=tx.at)
        seats.take_seat(tx, wanted.project, ident, wanted.predecessor, wanted.proof)
        q.launch_dispatch(tx, id=ident, process=str(daemon), at=tx.at, **change(EXEC_STEPS, "pending", "launched"))
        if wanted.proof is not None:
            q.add_nonce(tx, dispatch=ident, project=wanted.project, hash=proof, at=tx.at)
        tx.note(kind="coord", engine=OWN_LOOP, process=str(daemon), duty="daemon")

    return Change(f"dispatch {ident} (coord of {wanted.project}) as a duty of the daemon", work)


def held_seats(context: Context) -> dict[str, str]:
    """Return the coordinators that this process plays and that hold their seat, as {project: dispatch}."""
    return {seat.project: row.id for seat, row in _seated_duties(context) if is_held_here(context, row)}


def lost_seats(context: Context) -> dict[str, str]:
    """Return the coordinators whose daemon is proven dead or that have ended, as {project: dispatch}.

    The calling daemon takes over their seats. Coordinators that somebody asked to exit are left out.
    """
    return {seat.project: row.id for seat, row in _seated_duties(context) if _is_lost(context, seat, row)}


def unheld_seats(context: Context) -> dict[str, str]:
    """Return the coordinators that a daemon played and that no running daemon plays, as {project: dispatch}.

    A starting daemon takes over their seats. Coordinators that somebody asked to exit are left out.
    """
    daemon = context.world.daemon_process()
    return {
        seat.project: row.id
        for seat, row in _seated_duties(context)
        if _is_wanted(context, seat, row) and not (is_in_flight(row) and daemon and row.process == str(daemon))
    }


def _seated_duties(context: Context) -> list[tuple[Seat, Dispatch]]:
    """Return each seat of this home whose holder a daemon plays or played, with the holder's dispatch."""
    found = []
    for seat in context.store.read(q.all_seats):
        row = dispatch_or_none(context, seat.holder) if seat.holder else None
        if row is not None and is_held_by_daemon(row) and is_own(context, row):
            found.append((seat, row))
    return found


def is_held_here(context: Context, row: Dispatch) -> bool:
    """Return whether this process plays the coordinator, and the coordinator has not ended."""
    return is_held_by_daemon(row) and is_in_flight(row) and row.process == str(context.world.processes.me())


def _is_lost(context: Context, seat: Seat, row: Dispatch) -> bool:
    """Return whether a seat's holder should run but does not: it has ended, or the daemon that played it is proven dead."""
    return _is_wanted(context, seat, row) and is_gone(facts_about_end(context, row))


def _is_wanted(context: Context, seat: Seat, row: Dispatch) -> bool:
    """Return whether a daemon should play a seat's holder.

    It should if the holder is fleet's own loop, was not asked to exit, and no candidate of the seat may still prove
    itself.
    """
    return is_own_loop(_without_hopeless_candidate(context, seat), engine=row.engine, asked_for=row.asked_for)


def _without_hopeless_candidate(context: Context, seat: Seat) -> Seat:
    """Return the seat without its candidate if the candidate can no longer prove itself; else the seat as it is.

    The dead daemon itself may have been that candidate.
    """
    if not seat.candidate:
        return seat
    remedy = remedy_for("replace", facts_about_candidate(context, seat))
    return seat.replaced(candidate=None) if isinstance(remedy, Withdraw) else seat


def refuse_not_held(context: Context, project: str, ident: str) -> None:
    """Raise NotSeated unless this process plays the coordinator, and the coordinator has not ended."""
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
    if row is None or not is_held_here(context, row):
        raise errors.NotSeated(project=project, dispatch=ident, holder="nobody")


def write_lines(context: Context, ident: str, lines: list[str]) -> None:
    """Add lines to the log of a coordinator that has no screen; `fleet peek` and `fleet logs` show it.

    A log that has grown to twice its size limit loses its older half.
    """
    at, name = iso(context.world.clock.now()), paths.log(ident)
    context.world.files.append(name, "".join(f"[fleet] {at} {line}\n" for line in lines).encode())
    text = context.world.files.read(name)
    if len(text) > 2 * LOG_BYTES:
        context.world.files.publish(name, escapes.tail(text.decode("utf-8", "replace"), LOG_BYTES).encode())
