"""Hold a coordinator's seat in the daemon: the same seat and the same fences as a coordinator in a session, without one.

The dispatch has no session and no claims, and its process is the daemon's own. It is recorded, launched and seated in one
transaction, so that there is nothing to make and nothing to recover. It is ended in the store alone: by `coord stop`, Replace or
`kill`, which never signal the daemon. A daemon that has died is proven dead by its identity, and the next one settles the
dispatch and takes the seat anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.dispatch.one_time_proof import hash_nonce
from fleet.model.dispatch.remedies import Withdraw, remedy_for
from fleet.model.dispatch.seat_steps import OWN_LOOP, is_own_loop
from fleet.model.dispatch.steps import EXEC_STEPS, is_held_by_daemon, is_in_flight, is_unfinished, owner
from fleet.model.identity import Identity
from fleet.model.results.dispatches import Dispatched
from fleet.model.tables import change
from fleet.model.text import escapes
from fleet.model.text.times import iso
from fleet.store import queries as q
from fleet.store import seats
from fleet.store.transaction import Change
from fleet.verbs.coord.prove import prove
from fleet.verbs.dispatch.dispatch import dispatch
from fleet.verbs.dispatch.facts import facts_about_candidate
from fleet.verbs.dispatch.journal import dispatch_or_none
from fleet.verbs.dispatch.settle import LOG_BYTES
from fleet.verbs.homes.ownership import is_own, note_home, note_machine
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch, Seat
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.verbs.dispatch.plan import Wanted


def start_coordinator(context: Context, wanted: Wanted) -> Dispatched:
    """Start a coordinator: fleet's own loop as a duty of the daemon if one runs, any other in a session.

    Any process may ask the daemon for that, through the store: the daemon notices which seats name its process.
    """
    daemon = context.world.daemon_process() if wanted.engine == OWN_LOOP else None
    return dispatch(context, wanted) if daemon is None else _hold_seat(context, wanted, daemon)


def _hold_seat(context: Context, wanted: Wanted, daemon: Identity) -> Dispatched:
    """Record a coordinator that is a duty of the daemon, in the seat. One that replaces another is proven at once."""
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
    """Return the change that records the dispatch as running in the daemon, and takes the seat or becomes the candidate."""
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
    """Return the coordinators that are duties of this process and in their seat, by project."""
    return {seat.project: row.id for seat, row in _seated_duties(context) if is_held_here(context, row)}


def lost_seats(context: Context) -> dict[str, str]:
    """Return the coordinators that were duties of a daemon that has died, by project: this daemon takes their seats anew.

    Not those that somebody asked to exit, and none of which the death is not proven.
    """
    return {seat.project: row.id for seat, row in _seated_duties(context) if _is_lost(context, seat, row)}


def unheld_seats(context: Context) -> dict[str, str]:
    """Return the coordinators that are to be duties of the daemon and that no running daemon holds now, by project.

    A daemon that starts takes these seats. Not those that somebody asked to exit.
    """
    daemon = context.world.daemon_process()
    return {
        seat.project: row.id
        for seat, row in _seated_duties(context)
        if _is_wanted(context, seat, row) and not (is_in_flight(row) and daemon and row.process == str(daemon))
    }


def _seated_duties(context: Context) -> list[tuple[Seat, Dispatch]]:
    """Return each seat of this home whose holder is or was a duty of a daemon, with the holder's journal."""
    found = []
    for seat in context.store.read(q.all_seats):
        row = dispatch_or_none(context, seat.holder) if seat.holder else None
        if row is not None and is_held_by_daemon(row) and is_own(context, row):
            found.append((seat, row))
    return found


def is_held_here(context: Context, row: Dispatch) -> bool:
    """Whether a coordinator is a duty of this very process, and has not ended."""
    return is_held_by_daemon(row) and is_in_flight(row) and row.process == str(context.world.processes.me())


def _is_lost(context: Context, seat: Seat, row: Dispatch) -> bool:
    if not _is_wanted(context, seat, row):
        return False
    return not is_unfinished(row) or context.world.processes.life(Identity.parse(row.process or "")) == "dead"


def _is_wanted(context: Context, seat: Seat, row: Dispatch) -> bool:
    """Whether a seat's holder is fleet's own loop, nobody asked it to exit, and nobody who may live follows it."""
    return is_own_loop(_without_hopeless_candidate(context, seat), engine=row.engine, asked_for=row.asked_for)


def _without_hopeless_candidate(context: Context, seat: Seat) -> Seat:
    """Return a seat as it is after its candidate is withdrawn, if the candidate has died: its starter may be the dead daemon."""
    if not seat.candidate:
        return seat
    remedy = remedy_for("replace", facts_about_candidate(context, seat))
    return seat.replaced(candidate=None) if isinstance(remedy, Withdraw) else seat


def refuse_not_held(context: Context, project: str, ident: str) -> None:
    """Raise NotSeated unless a coordinator is a duty of this very process, and has not ended."""
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
