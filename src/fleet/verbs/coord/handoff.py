"""Handoff: an agent makes way for a successor that knows what it knew.

Document and queue entry come first; only then is anything ended. Draining carries an entry on as far as it can now, and leaves the
rest to the next drain: a coordinator's goes through Replace, a worker's ends the old one and starts the new one in its bundle.
Contention or unknown puts the entry off; it never spawns anyway.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.dispatch.remedies import Leave, Press, may_settle, remedy_for
from fleet.model.dispatch.settling import HANDED_OFF
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.results.coord import HandoffView
from fleet.model.text.times import iso, iso_or_none
from fleet.store import queries as q
from fleet.store import seats, tasks
from fleet.store.transaction import Change
from fleet.verbs.coord import replace
from fleet.verbs.coord.handoff_document import compose
from fleet.verbs.coord.seat import spawn_gate
from fleet.verbs.dispatch.apply_remedy import apply, decide_and_apply
from fleet.verbs.dispatch.dispatch import dispatch
from fleet.verbs.dispatch.end import ask
from fleet.verbs.dispatch.find import archived
from fleet.verbs.dispatch.looking import look
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.dispatch.reclaim import reclaim
from fleet.verbs.homes.ownership import is_own, offer, refuse_foreign, why_foreign
from fleet.verbs.projects import remote_control
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.states import HandoffState
    from fleet.store.queries import Dispatch, Handoff
    from fleet.store.transaction import Rows, Tx
    from fleet.verbs.context import Context

_LOOK_AGAIN = 0.1


def hand_off(context: Context, ident: str, *, reason: str, written: str = "", by: str) -> HandoffView:
    """Write the document and queue an entry. Called again, the first entry stays, and may be tried as often as a new one."""
    row = context.dispatch(ident)
    refuse_foreign(context, f"dispatch {ident}", row)
    _refuse_pointless(context, row)
    warnings = remote_control.mark(context, row.project) if row.kind == "coord" else []
    held = context.store.read(lambda rows: q.queued_handoff_of(rows, dispatch=ident))
    if held is not None:
        if held.tries:
            context.commit(_step(held, f"hand off {ident} after all", lambda tx: q.renew_handoff(tx, id=held.id)))
        return view(held).replaced(changed=False, warnings=warnings)
    entry = context.world.ids.dispatch()
    name = paths.handoff(ident, entry)
    context.world.files.publish(name, compose(context, row, reason=reason, written=written).encode())
    return context.commit(_queue(row, entry, name, reason, by)).replaced(warnings=warnings)


def _refuse_pointless(context: Context, row: Dispatch) -> None:
    ident, project = row.id, row.project
    if not is_unfinished(row):
        raise errors.Refused(
            what=f"{ident} has ended already: {row.exec_state}; `fleet resume {ident}` starts a successor"
        )
    if row.kind == "finisher":
        raise errors.Refused(what=f"{ident} is a merge of fleet's own: nothing to hand off")
    holder = context.store.read(lambda rows: seats.seat(rows, project)).holder
    if row.kind == "coord" and holder != ident:
        raise errors.NotSeated(project=project, dispatch=ident, holder=holder or "nobody")


def _queue(row: Dispatch, entry: str, name: str, reason: str, by: str) -> Change[HandoffView]:
    def work(tx: Tx) -> HandoffView:
        tx.about(row.project, row.slug)
        tx.dispatch = row.id
        q.add_handoff(tx, id=entry, dispatch=row.id, project=row.project, slug=row.slug, reason=reason, document=name,
                      asked_by=by, at=tx.at)  # fmt: skip
        queued = q.queued_handoff_of(tx, dispatch=row.id)
        if queued is None:
            raise errors.Contested(what=f"the id {entry} was given out before; try again")
        tx.note(handoff=queued.id, reason=reason, document=name)
        return view(queued).replaced(changed=queued.id == entry)

    return Change(f"hand off {row.id}: {reason}", work, returns=HandoffView)


def drain(context: Context, project: str | None = None) -> list[HandoffView]:
    """Carry on each queued entry as far as it goes now, without waiting for an agent."""
    queued = context.store.read(lambda rows: q.queued_handoffs(rows, project=project))
    return [_carry_on(context, entry) for entry in queued]


def finish(context: Context, entry: str, *, limit: float) -> HandoffView:
    """Carry on one entry until it is finished, for so many seconds at most."""
    deadline = context.world.clock.ticks() + limit
    while True:
        kept = context.store.read(lambda rows: q.handoff_by_id(rows, id=entry))
        if kept is None:
            raise errors.Absent(what=f"handoff {entry}")
        handoff = _carry_on(context, kept) if kept.state == "queued" else view(kept)
        if handoff.state != "queued" or context.world.clock.ticks() >= deadline:
            return handoff
        context.world.clock.wait(_LOOK_AGAIN)


def _carry_on(context: Context, entry: Handoff) -> HandoffView:
    """Carry on one entry. An entry that another process carries on is left alone, and so is one of another home."""
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=entry.dispatch))
    if row is not None and not is_own(context, row):
        return view(entry).replaced(deferred=f"{why_foreign(context, row)}; {offer(row.id)}")
    gate = context.world.project_gate(entry.project, f"handoff-{entry.id}")
    try:
        gate.take()
    except errors.GateHeld:
        return view(entry).replaced(deferred="somebody is draining it")
    try:
        waits = _coordinator(context, entry) if entry.slug is None else _worker(context, entry)
    except (errors.NotSeated, errors.StoreReplaced):
        raise
    except (errors.FleetError, OSError) as error:
        waits = str(error)
    finally:
        gate.give()
    if waits and waits != entry.deferred:
        context.commit(_defer(entry, waits))
    kept = context.store.read(lambda rows: q.handoff_by_id(rows, id=entry.id))
    return view(kept or entry)


def _defer(entry: Handoff, why: str) -> Change[None]:
    def write(tx: Tx) -> None:
        tx.note(why=why)
        q.defer_handoff(tx, id=entry.id, why=why)

    return _step(entry, f"put off the handoff of {entry.dispatch}: {why}", write)


def _step(entry: Handoff, why: str, write: Callable[[Tx], object]) -> Change[None]:
    """One step of an entry that stays queued."""

    def work(tx: Tx) -> None:
        tx.about(entry.project, entry.slug)
        tx.dispatch = entry.dispatch
        tx.note(handoff=entry.id)
        write(tx)

    return Change(why, work)


def _worker(context: Context, entry: Handoff) -> str:
    """End the old one, then start the new one in its bundle. Says what it waits for; empty when the entry is finished."""
    row = _journal(context, entry.dispatch)
    if row is not None and is_unfinished(row):
        waits = _end_old(context, row, entry)
        if waits:
            return waits
        row = _journal(context, entry.dispatch)
    if row is None or row.blocked_reason != HANDED_OFF:
        return _end_entry(context, entry, "dropped", None)
    successor = context.store.read(lambda rows: _successor(rows, entry, row))
    if successor is not None:
        return _follow(context, entry, successor)
    if not context.store.read(lambda rows: _is_left(rows, entry)):
        return _end_entry(context, entry, "dropped", None)
    return f"{dispatch(context, _wanted_successor(context, entry, row)).id} is starting"


def _wanted_successor(context: Context, entry: Handoff, row: Dispatch) -> Wanted:
    """The successor is started as its predecessor was, and is given what that one wrote."""
    written = context.world.files.read(entry.document).decode("utf-8", "replace")
    return Wanted(
        project=entry.project,
        slug=entry.slug,
        kind=row.kind,
        engine=row.engine,
        autonomy=row.autonomy,
        model=row.model,
        command=_command(row),
        predecessor=row.id,
        handoff=f"Agent {row.id} worked on this before you and handed over. What it left:\n\n{written}",
        handoffs=row.handoffs + 1,
    )


def _journal(context: Context, ident: str) -> Dispatch | None:
    """The journal of the old one, in the tables or archived."""
    return context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident)) or archived(context, ident)


def _command(row: Dispatch) -> tuple[str, ...]:
    return tuple(json.loads(row.command or "[]"))


def _end_old(context: Context, row: Dispatch, entry: Handoff) -> str:
    """End the old one as far as it can be now. Says what it waits for; empty when it has ended."""
    seen = look(context, row, "handoff")
    remedy = remedy_for("handoff", seen)
    if seen.condition == "dead" and not may_settle(seen) and row.asked_for is None:
        # It died while it was to hand over, and cannot be settled at once: when it can, it counts as handed off.
        ask(context, row, asked_for="handoff", reason=entry.reason)
    if isinstance(remedy, Leave):
        return f"{row.id}: {remedy.why}"
    applied = apply(context, row, remedy)
    if applied.ended:
        return ""
    return f"{row.id} is {applied.said}" if isinstance(remedy, Press) else applied.why


def _successor(rows: Rows, entry: Handoff, row: Dispatch) -> Dispatch | None:
    """The successor that a drain which was killed had started already."""
    return q.successor_of(rows, project=entry.project, predecessor=entry.dispatch, kind=row.kind)


def _follow(context: Context, entry: Handoff, successor: Dispatch) -> str:
    """Finish the entry when its successor was launched; one that died before that is no successor."""
    if successor.launched_at is not None:
        return _end_entry(context, entry, "done", successor.id)
    decide_and_apply(context, successor, "handoff")
    return f"{successor.id} is starting"


def _is_left(rows: Rows, entry: Handoff) -> bool:
    """Whether the task is where the old one left it, or given back by a successor that could not start."""
    task = tasks.state(rows, entry.project, entry.slug or "")
    mine = task.status == "in_progress" and task.assignee == entry.dispatch
    return mine or task.status == "open"


def _coordinator(context: Context, entry: Handoff) -> str:
    """A Replace, behind the coord-spawn gate like any other spawn of a coordinator. One that never comes off is given up."""
    project = entry.project
    seat = context.store.read(lambda rows: seats.seat(rows, project))
    if seat.holder != entry.dispatch:
        return _end_entry(context, entry, "done" if seat.holder else "dropped", seat.holder)
    if seat.candidate is not None and not replace.tend(context, project):
        return f"{seat.candidate} has to prove itself"
    row = _journal(context, entry.dispatch)
    if row is None:
        return _end_entry(context, entry, "dropped", None)
    if entry.tries >= context.setting("limits.failed_spawns"):
        return f"{entry.tries} new coordinators did not prove themselves; `fleet handoff {row.id}` tries again"
    wanted = Wanted(project=project, slug=None, kind="coord", engine=row.engine, autonomy=row.autonomy,
                    model=row.model, command=_command(row), handoffs=row.handoffs + 1)  # fmt: skip
    gate = spawn_gate(context, project)
    try:
        why = f"hand off {row.id} to a new coordinator"
        context.commit(_step(entry, why, lambda tx: q.try_handoff(tx, id=entry.id)))
        made = replace.begin(context, wanted)
    finally:
        gate.give()
    return f"{made.id} has to prove itself"


def _end_entry(context: Context, entry: Handoff, state: HandoffState, successor: str | None) -> str:
    def work(tx: Tx) -> None:
        tx.about(entry.project, entry.slug)
        tx.dispatch = entry.dispatch
        q.end_handoff(tx, id=entry.id, state=state, successor=successor, at=tx.at)
        tx.note(handoff=state, successor=successor)

    context.commit(Change(f"the handoff of {entry.dispatch} is {state}", work))
    reclaim(context, entry.dispatch)  # nothing of it waits for a successor any more
    return ""


def view(entry: Handoff) -> HandoffView:
    """An entry as people and programs read it."""
    return HandoffView.made_of(entry, at=iso(entry.at), done_at=iso_or_none(entry.done_at))
