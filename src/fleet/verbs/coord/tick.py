"""The tick: a coordinator's work, single-shot, for fleet's own loop and for an agent that calls it each turn.

Level-triggered: it reads what is, does what can be done now, and never waits for an agent. Each step stands for itself: one that
fails is said, and the others go on. Whoever is not the seat's holder changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.identity import Identity
from fleet.model.results.coord import Ticked
from fleet.store import seats
from fleet.verbs.agents import failed_turns, screens
from fleet.verbs.coord import handoff, replace
from fleet.verbs.coord.briefing import briefing, hand_out_messages
from fleet.verbs.coord.context_guard import guard
from fleet.verbs.coord.prove import prove
from fleet.verbs.coord.stages import advance
from fleet.verbs.coord.tend import tend_dispatches
from fleet.verbs.merge import pull_requests
from fleet.verbs.sweep.derived_files import reconcile

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.verbs.context import Context


@dataclass(slots=True)
class Steps:
    """What the steps of a tick did, and what they could not do, a line each."""

    done: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def take(self, name: str, act: Callable[[], list[str]]) -> None:
        """Take one step. What fails is recorded as a trouble; being superseded ends the tick."""
        try:
            self.done += act()
        except (errors.NotSeated, errors.StoreReplaced):
            raise
        except (errors.FleetError, OSError) as error:
            self.troubles.append(f"{name}: {error}")


def tick(context: Context, project: str, ident: str, *, nonce: str | None = None) -> Ticked:
    """One tick of the coordinator of a project, with what it needs to know next."""
    context.project(project)
    if nonce:
        _take_seat(context, project, ident, nonce)
    seat = context.store.read(lambda rows: seats.seat(rows, project))
    if seat.holder != ident:
        raise errors.NotSeated(project=project, dispatch=ident, holder=seat.holder or "nobody")
    gate = context.world.project_gate(project, "coordinator")
    try:
        gate.take()
    except errors.GateHeld:
        raise errors.TickInProgress(project=project, holder=gate.holder() or "an unknown process") from None
    try:
        steps = _work(context, project)
    finally:
        gate.give()
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


def _take_seat(context: Context, project: str, ident: str, nonce: str) -> None:
    """Present the proof, once. A coordinator whose own process is gone proves nothing: what it left behind may still be ticking."""
    seat = context.store.read(lambda rows: seats.seat(rows, project))
    if seat.candidate != ident:
        return
    if context.world.processes.life(Identity.parse(context.dispatch(ident).process or "")) != "alive":
        raise errors.NotSeated(project=project, dispatch=ident, holder=seat.holder or "nobody")
    world = context.world
    prove(context.store, world.home, project=project, ident=ident, nonce=nonce, clock=world.clock, ids=world.ids)


def _work(context: Context, project: str) -> Steps:
    steps = Steps()
    steps.take("ended agents", lambda: tend_dispatches(context, project, steps.troubles))
    steps.take("the change of coordinators", lambda: replace.tend(context, project) + replace.retire(context, project))
    steps.take("screens", lambda: screens.watch(context, project))
    steps.take("failed turns and messages", lambda: failed_turns.tend(context, project))
    steps.take("context", lambda: guard(context, project))
    steps.take("handoffs", lambda: _drain(context, project))
    steps.take("pull requests", lambda: pull_requests.start_pull_request_check(context, project))
    steps.take("stages", lambda: advance(context, project, steps.troubles))
    steps.take("coord-state.json", lambda: _reconcile(context))
    return steps


def _drain(context: Context, project: str) -> list[str]:
    lines = []
    for entry in handoff.drain(context, project):
        now = f"waits: {entry.deferred}" if entry.state == "queued" else f"{entry.state}, by {entry.successor}"
        lines.append(f"handoff of {entry.dispatch}: {now}")
    return lines


def _reconcile(context: Context) -> list[str]:
    reconcile(context, write=True)
    return []
