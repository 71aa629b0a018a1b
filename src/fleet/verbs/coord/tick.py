"""Run one tick of a coordinator: all its regular work, once. Fleet's own loop calls it, or an agent in each turn.

A tick reads the present state, does what can be done now, and never waits for an agent. When a step fails, its error is
reported and the other steps run. Only the seat's holder may tick.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.dispatch.steps import is_held_by_daemon, is_in_flight
from fleet.model.identity import Identity
from fleet.model.results.coord import Ticked
from fleet.store import queries as q
from fleet.store import seats
from fleet.verbs.agents import failed_turns, screens
from fleet.verbs.agents.cost.allow_more import continue_allowed
from fleet.verbs.agents.cost.count_tokens import count_project
from fleet.verbs.coord import replace, wake
from fleet.verbs.coord.briefing import briefing, hand_out_messages
from fleet.verbs.coord.handoffs import handoff
from fleet.verbs.coord.handoffs.context_guard import guard_contexts
from fleet.verbs.coord.prove import prove
from fleet.verbs.coord.restart import restart_dead_loops
from fleet.verbs.coord.stages import advance_tasks
from fleet.verbs.coord.tend import TICK_ENDING_ERRORS, tend_dispatches
from fleet.verbs.merge import pull_requests
from fleet.verbs.sweep.derived_files import reconcile_coord_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.store.queries import Seat
    from fleet.verbs.context import Context


@dataclass(slots=True)
class Steps:
    """The steps of one tick: lines that say what they did (`done`), and the errors that they met (`troubles`)."""

    context: Context
    project: str
    ident: str
    done: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def run(self, name: str, act: Callable[[], list[str]]) -> None:
        """Call one step of the tick and keep the lines that it returns; keep an error as a trouble under the step's name.

        Raises NotSeated when the coordinator has lost its seat. The errors `TICK_ENDING_ERRORS` are raised too.
        """
        _own_seat(self.context, self.project, self.ident)
        try:
            self.done += act()
        except TICK_ENDING_ERRORS:
            raise
        except (errors.FleetError, OSError) as error:
            self.troubles.append(f"{name}: {error}")


def tick(context: Context, project: str, ident: str, *, nonce: str | None = None) -> Ticked:
    """Run one tick of a project's coordinator: all its regular work, once.

    `ident` is the coordinator's dispatch; `nonce` proves a candidate, which then ticks as the holder. Raises NotSeated
    when the dispatch does not hold the seat, TickInProgress while another tick of the project runs.
    """
    context.project(project)
    if nonce:
        _present_nonce(context, project, ident, nonce)
    seat = _own_seat(context, project, ident)
    gate = context.world.project_gate(project, "coordinator")
    try:
        gate.take()
    except errors.GateHeld:
        raise errors.TickInProgress(project=project, holder=gate.holder() or "an unknown process") from None
    try:
        steps = _run_steps(context, project, Steps(context, project, ident))
    finally:
        gate.give()
    steps.run("waking", lambda: wake.record_tick(context, project, ident))
    now = context.world.clock.now()
    return Ticked(
        project=project,
        holder=ident,
        epoch=seat.epoch,
        done=steps.done,
        troubles=steps.troubles,
        next=context.store.read(lambda rows: briefing(rows, project, now)),
        messages=hand_out_messages(context, project, ident),
    )


def _present_nonce(context: Context, project: str, ident: str, nonce: str) -> None:
    """Make the coordinator the seat's holder by its nonce, if it is the candidate; else do nothing.

    Raises NotSeated when the nonce is not the candidate's, or when the candidate's process is not alive: then the
    caller may be a child process that it left behind.
    """
    seat = context.store.read(lambda rows: seats.seat(rows, project))
    if seat.candidate != ident:
        return
    if context.world.processes.life(Identity.parse(context.dispatch(ident).process or "")) != "alive":
        raise errors.NotSeated(project=project, dispatch=ident, holder=seat.holder or "nobody")
    world = context.world
    prove(context.store, world.home, project=project, ident=ident, nonce=nonce, clock=world.clock, ids=world.ids)


def _own_seat(context: Context, project: str, ident: str) -> Seat:
    """Return the seat that the ticking coordinator holds.

    Raises NotSeated if it has lost the seat, if a daemon played it and its dispatch is no longer in flight, or if its
    dispatch is archived and the coordinator itself is the caller.
    """
    seat, row = context.store.read(lambda rows: (seats.seat(rows, project), q.dispatch_by_id(rows, id=ident)))
    if seat.holder != ident:
        raise errors.NotSeated(project=project, dispatch=ident, holder=seat.holder or "nobody")
    has_ended = context.by.dispatch == ident if row is None else is_held_by_daemon(row) and not is_in_flight(row)
    if has_ended:
        raise errors.NotSeated(project=project, dispatch=ident, holder="nobody")
    return seat


def _run_steps(context: Context, project: str, steps: Steps) -> Steps:
    """Run the steps of one tick in order. Meanwhile the project's watch (`fleet coord watch`) does nothing.

    Raises TickInProgress when a round of the watch that has begun does not end within a few seconds. Returns `steps`.
    """
    with wake.watch_suspended(context, project):
        return _run_each(context, project, steps)


def _run_each(context: Context, project: str, steps: Steps) -> Steps:
    """Run each step of a tick in order, and return `steps`. A step that fails adds a trouble, and the next one runs."""
    steps.run("ended agents", lambda: tend_dispatches(context, project, steps.troubles))
    steps.run(
        "the change of coordinators",
        lambda: replace.withdraw_hopeless(context, project) + replace.retire_unseated(context, project),
    )
    steps.run("screens", lambda: screens.watch(context, project))
    steps.run("failed turns and messages", lambda: failed_turns.continue_agents(context, project))
    steps.run("tokens", lambda: count_project(context, project))
    steps.run("budgets", lambda: _continue_allowed(context, project))
    steps.run("context", lambda: guard_contexts(context, project, steps.troubles))
    steps.run("handoffs", lambda: _drain_handoffs(context, project, steps.troubles))
    steps.run("pull requests", lambda: pull_requests.start_pull_request_check(context, project))
    steps.run("stages", lambda: advance_tasks(context, project, steps.troubles))
    steps.run("other coordinators", lambda: restart_dead_loops(context, except_project=project))
    steps.run("other watches", lambda: wake.start_missing_watches(context, except_project=project))
    steps.run("coord-state.json", lambda: _write_coord_state(context))
    return steps


def _continue_allowed(context: Context, project: str) -> list[str]:
    """Send a "go on" message to agents that no budget stops any more. Returns a line for people for each agent."""
    return [f"{ident} goes on: its budget was raised" for ident in continue_allowed(context, project)]


def _drain_handoffs(context: Context, project: str, troubles: list[str]) -> list[str]:
    """Advance the queued handoffs; add their warnings to `troubles`, each once. Returns a line for each handoff."""
    lines = []
    for entry in handoff.drain(context, project):
        troubles += [warning for warning in entry.warnings or () if warning not in troubles]
        by = f", by {entry.successor}" if entry.successor else ""
        state = f"waits: {entry.deferred or 'it is not finished'}" if entry.state == "queued" else f"{entry.state}{by}"
        lines.append(f"handoff of {entry.dispatch}: {state}")
    return lines


def _write_coord_state(context: Context) -> list[str]:
    """Rewrite coord-state.json files that are out of date. Returns no lines for the tick."""
    reconcile_coord_state(context, write=True)
    return []
