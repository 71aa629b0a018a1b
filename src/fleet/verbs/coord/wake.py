"""Wake a coordinator that is an agent, when there is something to do.

The process `fleet coord watch` (the watch) does this: one for each project, which holds the gate `coord-watch`, starts
with the coordinator and ends with it. A watch that has died is started again by the next tick of any project, by the
end of an agent of its project, or by `fleet up`. The watch sends a message, delivered like any other, and only while no
turn of the coordinator runs.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fleet import errors
from fleet.engines.reader import engine as read_engine
from fleet.engines.reader import has_box, state_of
from fleet.model.agents.activity.waking import RESTS, Situation, news, things_to_do, wake_text
from fleet.model.dispatch.steps import is_ending, is_in_flight, is_unfinished
from fleet.model.identity import Identity
from fleet.model.tasks.pipeline import MENDING, MOST_FIXES
from fleet.model.text.times import SECOND, duration
from fleet.store import queries as q
from fleet.store import seats
from fleet.store.transaction import Change
from fleet.verbs.agents import failed_turns, screens
from fleet.verbs.agents.deliver import deliver
from fleet.verbs.coord.briefing import briefing
from fleet.verbs.homes.ownership import is_own

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.store.queries import Dispatch, LivingAgent, Wake
    from fleet.store.transaction import Rows, Tx
    from fleet.verbs.context import Context
    from fleet.world.files.gates import Gate

# The gate that a watch holds as long as it runs, and the gate that is held during one round of it, or during a tick.
_WATCH_GATE = "coord-watch"
_LOOK_GATE = "coord-look"
# How many seconds a tick waits for a round of the watch to end.
_LONGEST_LOOK = 5.0
# How long after the launch of a coordinator its watch may still be starting.
_STARTING = 15 * SECOND


def watch_gate(context: Context, project: str) -> Gate:
    """Return the gate that the project's watch (`fleet coord watch`) holds, so that there is never a second watch."""
    return context.world.project_gate(project, _WATCH_GATE)


@contextmanager
def watch_suspended(context: Context, project: str) -> Iterator[None]:
    """Keep the project's watch (`fleet coord watch`), and the daemon in its place, from acting while the `with` block runs.

    First waits until a round of the watch that has begun is over. Raises TickInProgress when that takes longer than a
    few seconds.
    """
    gate = context.world.project_gate(project, _LOOK_GATE)
    try:
        gate.take(wait=_LONGEST_LOOK)
    except errors.GateHeld:
        raise errors.TickInProgress(project=project, holder=gate.holder() or "an unknown process") from None
    try:
        yield
    finally:
        gate.give()


def start_watch(context: Context, project: str) -> bool:
    """Start a project's watch (`fleet coord watch`) in the background, if the coordinator is an agent and no watch runs.

    Returns whether it was started.
    """
    if not watched_coordinators(context, project):
        return False
    if not watch_gate(context, project).is_free():
        return False
    context.world.start_fleet("coord", "watch", "-p", project)
    return True


def start_missing_watches(context: Context, *, except_project: str) -> list[str]:
    """Start the process that wakes the coordinator (`fleet coord watch`) in each project that lacks one.

    Only projects with an agent as coordinator need one; `except_project` is left out. Returns a sentence for each
    process that was started.
    """
    others = [seat.project for seat in context.store.read(q.all_seats) if seat.project != except_project]
    return [
        f"started the process that wakes the coordinator of {each}" for each in others if start_watch(context, each)
    ]


def is_unwatched(context: Context, project: str) -> bool:
    """Return whether the project's coordinator is an agent and no watch (`fleet coord watch`) runs that would wake it.

    False in the first seconds after the agent's launch, because its watch may still be starting.
    """
    launches = [row.launched_at for row in watched_coordinators(context, project) if row.launched_at is not None]
    if not launches or context.world.clock.now() - min(launches) < _STARTING:
        return False
    return watch_gate(context, project).is_free()


def watched_coordinators(context: Context, project: str) -> list[Dispatch]:
    """Return the coordinators of a project that a watch has to wake: interactive agents of this home that may be alive.

    Only the seat's holder and its candidate are considered.
    """
    seat = context.store.read(lambda rows: seats.seat(rows, project))
    found = [context.store.read(lambda rows: q.dispatch_by_id(rows, id=each or "")) for each in (seat.holder, seat.candidate)]  # fmt: skip # noqa: B023 - called at once
    return [row for row in found if row is not None and _is_watched(context, row)]


def _is_watched(context: Context, row: Dispatch) -> bool:
    """Return whether a coordinator is an interactive agent of this home that has not ended.

    An agent counts as alive until its process is proven dead.
    """
    if not is_unfinished(row) or not is_own(context, row) or not _takes_turns(context, row):
        return False
    process = Identity.parse(row.process or "")
    return process is None or context.world.processes.life(process) != "dead"


def _takes_turns(context: Context, row: Dispatch) -> bool:
    """Return whether a coordinator's engine is interactive: after a turn such an agent does nothing until it is woken.

    True when the engine's file is missing or broken: the watch then says why it cannot wake the agent.
    """
    try:
        return read_engine(context.world.home, row.engine or "").interactive
    except errors.FleetError:
        return True


def watch(context: Context, project: str) -> list[str] | None:
    """Do one round of a project's watch: continue failed turns, deliver messages, wake the coordinator.

    Returns a line for people for each thing done; an empty list when there was nothing to do, or while a tick runs.
    Returns None when no coordinator needs a watch: then the watch ends itself.
    """
    if not watched_coordinators(context, project):
        return None
    gate = context.world.project_gate(project, _LOOK_GATE)
    try:
        gate.take()
    except errors.GateHeld:
        return []
    try:
        lines = [*screens.watch(context, project), *failed_turns.continue_agents(context, project)]
        return [*lines, *_wake_holder(context, project)]
    finally:
        gate.give()


def unattended_projects(context: Context) -> list[str]:
    """Return the projects in which agents of this home run and whose seat has no coordinator of this home that may be alive.

    A coordinator of another home tends that home's agents alone.
    """
    rows = context.store.read(lambda snapshot: q.living_agents(snapshot, project=None))
    projects = {row.project for row in rows if row.kind != "coord" and is_own(context, row)}
    return [name for name in sorted(projects) if not failed_turns.has_own_coordinator(context, name)]


def look_after(context: Context, project: str) -> list[str]:
    """Continue failed turns and deliver messages in a project without a coordinator. A duty of the daemon.

    Returns a line for people for each thing done. Does nothing while a tick runs, or while another process does this.
    """
    gate = context.world.project_gate(project, _LOOK_GATE)
    try:
        gate.take()
    except errors.GateHeld:
        return []
    try:
        return [*screens.watch(context, project), *failed_turns.continue_agents(context, project)]
    finally:
        gate.give()


def _wake_holder(context: Context, project: str) -> list[str]:
    """Send the coordinator a message if there is news and none of its turns runs.

    Returns a line for people; an empty list when the coordinator was not woken.
    """
    seat = context.store.read(lambda rows: seats.seat(rows, project))
    known = context.store.read(lambda rows: q.heard_agent(rows, dispatch=seat.holder or ""))
    if known is None or is_ending(known) or not _is_at_rest(context, known):
        return []
    if context.store.read(lambda rows: q.waiting_messages(rows, dispatch=known.dispatch)):
        return []  # the waiting message wakes the coordinator, and its next tick tells it what else there is to do
    before = context.store.read(lambda rows: _last_told(rows, known))
    found = _situation(context, project, before.at)
    sentences = news(found, json.loads(before.told))
    if not sentences:
        return []
    context.commit(_send_wake(known, context.world.ids.dispatch(), wake_text(sentences), list(things_to_do(found))))
    deliver(context, known.dispatch, context.world.tmux.listing())
    return [f"woke {known.dispatch}: {'; '.join(sentences)}"]


def _is_at_rest(context: Context, known: LivingAgent) -> bool:
    """Return whether the coordinator's agent is between turns: by its hooks, or by its screen if no hook has reported."""
    engine = read_engine(context.world.home, known.engine)
    if engine.hooks is not None and known.heartbeat_at is not None:
        return known.state in RESTS
    pane = context.world.tmux.listing().pane_of(known.dispatch)
    screen = (context.world.tmux.capture(pane, history=False) if pane else None) or ""
    return has_box(engine, screen) and state_of(engine, screen)[0] in RESTS


def _last_told(rows: Rows, known: LivingAgent) -> Wake:
    """Return what the coordinator was last told to do, and when.

    If it has neither ticked nor been woken, it was told nothing, and the time is that of its launch.
    """
    wake = q.wake_of(rows, project=known.project)
    if wake is not None and wake.dispatch == known.dispatch:
        return wake
    since = known.launched_at or 0
    return q.Wake(project=known.project, dispatch=known.dispatch, told="[]", at=since, message=None, trouble=None)


def _send_wake(known: LivingAgent, message: str, text: str, things: list[str]) -> Change[None]:
    """Return the change that stores the message that wakes a coordinator.

    `message` is the message's id. `things` are what there is to do; they are stored too, so that each is told only
    once. Committing raises NotSeated when the coordinator has lost the seat.
    """

    def work(tx: Tx) -> None:
        tx.about(known.project)
        tx.dispatch = known.dispatch
        if not seats.is_holder(tx, known.project, known.dispatch):
            raise errors.NotSeated(project=known.project, dispatch=known.dispatch, holder="somebody else")
        q.add_message(tx, id=message, dispatch=known.dispatch, kind="message", sender="fleet", text=text, at=tx.at)
        _write_told(tx, known.project, known.dispatch, things, message)
        tx.note(message=message, text=text)

    return Change(f"wake the coordinator {known.dispatch} of {known.project}", work)


def _write_told(tx: Tx, project: str, ident: str, things: list[str], message: str | None) -> None:
    """Store which things to do the coordinator was told, and the id of the message that told it (None: a tick told it)."""
    told = json.dumps(sorted(things), ensure_ascii=False)
    q.tell_coordinator(tx, project=project, dispatch=ident, told=told, at=tx.at, message=message)


def record_tick(context: Context, project: str, ident: str) -> list[str]:
    """Record what a tick has told a coordinator that is an agent, and start its watch if none runs.

    The message that woke the coordinator is acknowledged. Nothing is done when the coordinator's engine is not
    interactive, as for fleet's own loop. Returns a line for people when the watch was started, else [].
    """
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
    if row is None or not _takes_turns(context, row):
        return []
    things = list(things_to_do(_situation(context, project, context.world.clock.now())))

    def work(tx: Tx) -> None:
        tx.about(project)
        tx.dispatch = ident
        wake = q.wake_of(tx, project=project)
        if wake is not None and wake.dispatch == ident and wake.message:
            q.acknowledge_message(tx, id=wake.message, dispatch=ident, at=tx.at)  # the message asked for this tick
        _write_told(tx, project, ident, things, None)

    context.commit(Change(f"{ident} has ticked and knows what there is to do", work))
    return [f"started the process that wakes {ident}"] if start_watch(context, project) else []


def note_trouble(context: Context, project: str, trouble: str | None) -> None:
    """Record why the coordinator cannot be woken (`trouble`; None when it can), if that has changed."""
    before = context.store.read(lambda rows: q.wake_of(rows, project=project))
    holder = context.store.read(lambda rows: seats.seat(rows, project)).holder or ""
    if (before.trouble if before and before.dispatch == holder else None) == trouble:
        return

    def work(tx: Tx) -> None:
        tx.about(project)
        tx.note(trouble=trouble)
        q.note_wake_trouble(tx, project=project, dispatch=holder, at=tx.at, trouble=trouble)

    context.commit(Change(f"waking the coordinator of {project}: {trouble or 'works again'}", work))


def _situation(context: Context, project: str, told_at: int) -> Situation:
    """Return what a coordinator would find in a tick now: work, reports, overdue agents, questions, freed engines.

    A freed engine is one whose hold is over. What the coordinator was told before is included. `told_at` is when it was
    last told something, in milliseconds; the next tick is due some time after that.
    """
    now = context.world.clock.now()
    review = context.settings(project).review
    read = context.store.read
    rows = [row for row in read(lambda r: q.listed_dispatches(r, project=project, ended=0)) if row.kind != "coord"]
    waiting = read(lambda r: q.waiting_stages(r, project=project))
    return Situation(
        next=read(lambda r: briefing(r, project, now)),
        to_mend=[row.slug for row in waiting if row.stage in MENDING and row.fixes < MOST_FIXES],
        agent_reviews=review == "agent",
        reported={row.id: row.report for row in rows if row.report is not None},
        overdue=[row.id for row in rows if _is_overdue(context, row, now)],
        questions={row.id: row.dispatch for row in read(q.waiting_questions) if row.project == project},
        over=[row.engine for row in read(q.every_hold) if row.until is not None and row.until <= now and not row.trial],
        since=now - told_at,
        every=duration(context.settings().wake_every),
    )


def _is_overdue(context: Context, row: Dispatch, now: int) -> bool:
    """Return whether a running agent should have exited by now.

    If it was asked to exit, the grace after the request must be over; otherwise the grace after its report. False when
    it was neither asked nor has reported, and when the dispatch is not in flight.
    """
    if not is_in_flight(row):
        return False
    asked = row.asked_at is not None and now - row.asked_at >= duration(context.settings().exit_grace)
    reported = row.reported_at is not None and now - row.reported_at >= duration(context.settings().report_grace)
    return asked or (reported and row.asked_at is None)
