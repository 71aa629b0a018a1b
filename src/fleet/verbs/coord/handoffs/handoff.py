"""Hand off an agent: end it and start a successor that gets its handoff document.

The document and a queue entry are written before anything is ended. A drain advances each entry as far as possible, and
the next drain continues: a coordinator is replaced (see replace.py); a worker is ended, then its successor starts in
the same bundle. The entry is deferred while another process advances it or the agent's life is unknown.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.dispatch.remedies import Leave, Press, is_owed_a_request, remedy_for
from fleet.model.dispatch.steps import HANDED_OFF, HANDOFF_STEPS, is_asked_to_exit, is_unfinished
from fleet.model.results.coord import HandoffView
from fleet.model.tables import step
from fleet.model.tasks import fence
from fleet.model.text.times import iso, iso_or_none
from fleet.store import queries as q
from fleet.store import seats, tasks
from fleet.store.transaction import Change
from fleet.verbs.coord import replace
from fleet.verbs.coord.handoffs.handoff_document import compose_document
from fleet.verbs.coord.handoffs.progress import park_if_fruitless
from fleet.verbs.coord.seat import take_spawn_gate
from fleet.verbs.dispatch.apply_remedy import apply, decide_and_apply
from fleet.verbs.dispatch.dispatch import dispatch
from fleet.verbs.dispatch.end import ask
from fleet.verbs.dispatch.facts import gather_facts
from fleet.verbs.dispatch.journal import dispatch_or_none
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.dispatch.reclaim import reclaim
from fleet.verbs.homes.ownership import disown_hint, is_own, refuse_foreign, why_foreign
from fleet.verbs.projects import remote_control
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.store.queries import Dispatch, Handoff
    from fleet.store.transaction import Rows, Tx
    from fleet.verbs.context import Context

_POLL_SECONDS = 0.1


def hand_off(context: Context, ident: str, *, reason: str, written: str = "", by: str) -> HandoffView:
    """Write an agent's handoff document and queue a handoff entry, which a drain then carries out.

    `written` are the agent's own notes, `by` who asks. Returns the view of the entry. If an entry is queued already,
    only its count of tries is reset, and the view's `changed` is False. Raises, before anything is changed: NotAFolder
    when a file is where the folder of the document or of the successor's prompt belongs; Refused for a dispatch that
    has ended or is a merge; NotSeated for a coordinator without the seat; OtherHost for a dispatch of another home.
    """
    row = context.dispatch(ident)
    refuse_foreign(context, f"dispatch {ident}", row)
    _refuse_pointless(context, row)
    for folder in (
        paths.HANDOFFS,
        paths.INBOX,
    ):  # the folder of the document, and that of the successor's prompt
        context.world.files.refuse_blocked(folder)
    warnings = remote_control.turn_up_if_unset(context, row.project) if row.kind == "coord" else []
    queued = context.store.read(lambda rows: q.queued_handoff_of(rows, dispatch=ident))
    if queued is not None:
        if queued.tries:
            why = f"hand off {ident} after all"
            context.commit(_change_entry(queued, why, lambda tx: q.renew_handoff(tx, id=queued.id)))
        return view(queued).replaced(changed=False, warnings=warnings)
    entry = context.world.ids.dispatch()
    name = paths.handoff(ident, entry)
    context.world.files.publish(name, compose_document(context, row, reason=reason, written=written).encode())
    return context.commit(_queue_entry(row, entry, name, reason, by)).replaced(warnings=warnings)


def _refuse_pointless(context: Context, row: Dispatch) -> None:
    """Raise Refused for an ended dispatch or a finisher, NotSeated for a coordinator that does not hold the seat."""
    ident, project = row.id, row.project
    if not is_unfinished(row):
        raise errors.Refused(
            what=f"{ident} has ended already: {row.exec_state}; `fleet resume {ident}` starts a successor"
        )
    if row.kind == "finisher":
        raise errors.Refused(what=f"{ident} is a merge, which fleet runs itself: there is no agent to hand off")
    holder = context.store.read(lambda rows: seats.seat(rows, project)).holder
    if row.kind == "coord" and holder != ident:
        raise errors.NotSeated(project=project, dispatch=ident, holder=holder or "nobody")


def _queue_entry(row: Dispatch, entry: str, name: str, reason: str, by: str) -> Change[HandoffView]:
    """Return the change that queues a handoff entry.

    `entry` is the new entry's id, `name` the path of its document, and `by` who asked for the handoff. Committing it
    returns the view of the queued entry: if another entry was queued first, that one, with `changed` False.
    """

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
    """Advance each queued handoff entry, of one project or of all, as far as possible now. Never waits for an agent."""
    queued = context.store.read(lambda rows: q.queued_handoffs(rows, project=project))
    return [_advance_entry(context, entry) for entry in queued]


def finish(context: Context, entry: str, *, limit: float) -> HandoffView:
    """Advance one handoff entry until it is done or dropped, or until `limit` seconds have passed.

    Raises Absent when there is no such entry.
    """
    deadline = context.world.clock.ticks() + limit
    warnings: list[str] = []
    while True:
        current = context.store.read(lambda rows: q.handoff_by_id(rows, id=entry))
        if current is None:
            raise errors.Absent(what=f"handoff {entry}")
        handoff = _advance_entry(context, current) if current.state == "queued" else view(current)
        warnings += [warning for warning in handoff.warnings or () if warning not in warnings]
        if handoff.state != "queued" or context.world.clock.ticks() >= deadline:
            return handoff.replaced(warnings=warnings or None)
        context.world.clock.wait(_POLL_SECONDS)


def _advance_entry(context: Context, entry: Handoff) -> HandoffView:
    """Advance one queued handoff, unless another process is advancing it or its dispatch belongs to another home.

    Returns the entry's view: `deferred` says why it is not finished, `warnings` what went wrong besides. An error
    becomes the text of `deferred`; only NotSeated and StoreReplaced are raised.
    """
    warnings: list[str] = []
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=entry.dispatch))
    if row is not None and not is_own(context, row):
        return view(entry).replaced(deferred=f"{why_foreign(context, row)}; {disown_hint(row.id)}")
    gate = context.world.project_gate(entry.project, f"handoff-{entry.id}")
    try:
        gate.take()
    except errors.GateHeld:
        return view(entry).replaced(deferred="another process is draining it")
    try:
        if entry.slug is None:
            waits_for = _advance_coordinator(context, entry, warnings)
        else:
            waits_for = _advance_worker(context, entry)
    except (errors.NotSeated, errors.StoreReplaced):
        raise
    except (errors.FleetError, OSError) as error:
        waits_for = str(error)
    finally:
        gate.give()
    if waits_for and waits_for != entry.deferred:
        context.commit(_defer_entry(entry, waits_for))
    current = context.store.read(lambda rows: q.handoff_by_id(rows, id=entry.id))
    return view(current or entry).replaced(warnings=warnings or None)


def _defer_entry(entry: Handoff, why: str) -> Change[None]:
    """Return the change that records why a handoff entry cannot be finished now."""

    def write(tx: Tx) -> None:
        tx.note(why=why)
        q.defer_handoff(tx, id=entry.id, why=why)

    return _change_entry(entry, f"put off the handoff of {entry.dispatch}: {why}", write)


def _change_entry(entry: Handoff, why: str, write: Callable[[Tx], object]) -> Change[None]:
    """Return the change in which `write` updates a handoff entry. The entry stays queued.

    `why` is the reason in the operation log.
    """

    def work(tx: Tx) -> None:
        tx.about(entry.project, entry.slug)
        tx.dispatch = entry.dispatch
        tx.note(handoff=entry.id)
        write(tx)

    return Change(why, work)


def _advance_worker(context: Context, entry: Handoff) -> str:
    """Advance a worker's handoff: end the old agent, then start its successor.

    Returns what the handoff entry still waits for; "" when it is finished. It is finished without a successor when the
    agent ended in another way, somebody else has the task, or the task is parked after fruitless handoffs.
    """
    row = dispatch_or_none(context, entry.dispatch)
    if row is not None and is_unfinished(row):
        context.world.files.refuse_blocked(paths.INBOX)  # else the agent would end, and no successor could be prompted
        waits_for = _end_predecessor(context, row, entry)
        if waits_for:
            return waits_for
        row = dispatch_or_none(context, entry.dispatch)
    if row is None or row.blocked_reason != HANDED_OFF:
        return _end_entry(context, entry, "drop", None)
    successor = context.store.read(lambda rows: _started_successor(rows, entry, row))
    if successor is not None:
        return _finish_if_launched(context, entry, successor)
    if not context.store.read(lambda rows: _is_task_free(rows, entry)):
        return _end_entry(context, entry, "drop", None)
    if park_if_fruitless(context, entry, row):
        reclaim(context, entry.dispatch)  # no successor will take over its inbox
        return ""
    return f"{dispatch(context, _successor_wanted(context, entry, row)).id} is starting"


def _successor_wanted(context: Context, entry: Handoff, row: Dispatch) -> Wanted:
    """Return the request for a successor: engine, model and command of the predecessor, and the handoff document."""
    written = context.world.files.read(entry.document).decode("utf-8", "replace")
    return Wanted(
        project=entry.project,
        slug=entry.slug,
        kind=row.kind,
        engine=row.engine,
        autonomy=row.autonomy,
        model=row.model,
        command=_agent_command(row),
        predecessor=row.id,
        handoff=f"Agent {row.id} worked on this before you and handed over. What it left:\n\n{written}",
        handoffs=row.handoffs + 1,
    )


def _agent_command(row: Dispatch) -> tuple[str, ...]:
    """Return the command that was given after `--` when the agent was dispatched; its successor gets the same command.

    Empty when none was given, as for most engines: they have a program of their own.
    """
    return tuple(json.loads(row.command or "[]"))


def _end_predecessor(context: Context, row: Dispatch, entry: Handoff) -> str:
    """Do the next step to end the agent that is handed off: ask it to exit, kill it, or settle it when it is dead.

    Returns what the handoff waits for; "" when the agent has ended.
    """
    seen = gather_facts(context, row, "handoff")
    remedy = remedy_for("handoff", seen)
    if is_owed_a_request(seen, asked=is_asked_to_exit(row)):
        ask(context, row, asked_for="handoff", reason=entry.reason)
    if isinstance(remedy, Leave):
        return f"{row.id}: {remedy.why}"
    applied = apply(context, row, remedy)
    if applied.ended:
        return ""
    return f"{row.id} is {applied.said}" if isinstance(remedy, Press) else applied.why


def _started_successor(rows: Rows, entry: Handoff, row: Dispatch) -> Dispatch | None:
    """Return the successor that an earlier drain of this handoff has started; None when none has been started."""
    return q.successor_of(rows, project=entry.project, predecessor=entry.dispatch, kind=row.kind)


def _finish_if_launched(context: Context, entry: Handoff, successor: Dispatch) -> str:
    """Mark the handoff as done if its successor was launched. Returns "" then, else that the successor is starting.

    A successor that died before its launch is settled, so that the next drain starts another.
    """
    if successor.launched_at is not None:
        return _end_entry(context, entry, "hand_on", successor.id)
    decide_and_apply(context, successor, "handoff")
    return f"{successor.id} is starting"


def _is_task_free(rows: Rows, entry: Handoff) -> bool:
    """Return whether a successor may take the task: it is open, or still assigned to the agent that is handed off."""
    task = tasks.state(rows, entry.project, entry.slug or "")
    return fence.holder(task) == entry.dispatch or task.status == "open"


def _advance_coordinator(context: Context, entry: Handoff, warnings: list[str]) -> str:
    """Advance a coordinator's handoff: start a new coordinator as the seat's candidate; finish when it holds the seat.

    Returns what the entry still waits for; "" when it is finished. Warnings of the new coordinator's start are added to
    `warnings`.
    """
    project = entry.project
    seat = context.store.read(lambda rows: seats.seat(rows, project))
    if seat.holder != entry.dispatch:
        return _end_entry(context, entry, "hand_on" if seat.holder else "drop", seat.holder)
    may_prove = seat.candidate is not None and not replace.withdraw_hopeless(context, project)
    # A withdrawn candidate is ended here, because the old coordinator may never tick again.
    replace.retire_unseated(context, project)  # asks it to exit first, and kills it at a later drain
    if may_prove:
        return f"{seat.candidate} has to prove itself"
    row = dispatch_or_none(context, entry.dispatch)
    if row is None:
        return _end_entry(context, entry, "drop", None)
    if entry.tries >= context.settings().limits_failed_spawns:
        return f"{entry.tries} new coordinators did not prove themselves; `fleet handoff {row.id}` tries again"
    wanted = Wanted(project=project, slug=None, kind="coord", engine=row.engine, autonomy=row.autonomy,
                    model=row.model, command=_agent_command(row), handoffs=row.handoffs + 1)  # fmt: skip
    gate = take_spawn_gate(context, project)
    try:
        why = f"hand off {row.id} to a new coordinator"
        context.commit(_change_entry(entry, why, lambda tx: q.try_handoff(tx, id=entry.id)))
        started = replace.start_candidate(context, wanted)
    finally:
        gate.give()
    warnings += started.warnings
    return f"{started.id} has to prove itself"


def _end_entry(context: Context, entry: Handoff, event: str, successor: str | None) -> str:
    """Move a queued handoff entry to `done` (`event` "hand_on") or `dropped` ("drop"); reclaim what its dispatch held.

    `successor` is the dispatch that continues the work, None for none. Always returns "", as the handoff then waits for
    nothing more.
    """
    state = step(HANDOFF_STEPS, "queued", event)

    def work(tx: Tx) -> None:
        tx.about(entry.project, entry.slug)
        tx.dispatch = entry.dispatch
        q.end_handoff(tx, id=entry.id, before="queued", after=state, successor=successor, at=tx.at)
        tx.note(handoff=state, successor=successor)

    context.commit(Change(f"the handoff of {entry.dispatch} is {state}", work))
    reclaim(context, entry.dispatch)  # no successor will take over its inbox any more
    return ""


def view(entry: Handoff) -> HandoffView:
    """Return a handoff entry as commands print it: with ISO times."""
    times = {"done_at": iso_or_none(entry.done_at), "parked_at": iso_or_none(entry.parked_at)}
    return HandoffView.made_of(entry, at=iso(entry.at), **times)
