"""The tick: a coordinator's work, single-shot, for fleet's own loop and for an agent that calls it each turn.

Level-triggered: it reads what is, does what can be done now, and never waits for an agent. Each step stands for itself: one that
fails is said, and the others go on. Whoever is not the seat's holder changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fleet.errors.contested import GateHeld, TickInProgress
from fleet.errors.families import FleetError
from fleet.errors.store import StoreReplaced
from fleet.errors.superseded import NotSeated
from fleet.model.identity import Identity
from fleet.store import seats
from fleet.verbs.agents import failed_turns, screens
from fleet.verbs.coord import handoff, replace
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
class Told:
    """What a tick did, a line each, and what went wrong."""

    done: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def step(self, name: str, act: Callable[[], list[str]]) -> None:
        """Do one step. What it cannot do is said; being superseded ends the tick."""
        try:
            self.done += act()
        except (NotSeated, StoreReplaced):
            raise
        except (FleetError, OSError) as error:
            self.troubles.append(f"{name}: {error}")


def tick(context: Context, project: str, ident: str, *, nonce: str | None = None) -> dict[str, Any]:
    """One tick of the coordinator of a project."""
    context.project(project)
    if nonce:
        _take_seat(context, project, ident, nonce)
    seat = context.store.read(lambda rows: seats.seat(rows, project))
    if seat.holder != ident:
        raise NotSeated(project=project, dispatch=ident, holder=seat.holder or "nobody")
    gate = context.world.project_gate(project, "coordinator")
    try:
        gate.take()
    except GateHeld:
        raise TickInProgress(project=project, holder=gate.holder() or "an unknown process") from None
    try:
        told = _work(context, project)
    finally:
        gate.give()
    return {"project": project, "holder": ident, "epoch": seat.epoch, "done": told.done, "troubles": told.troubles}


def _take_seat(context: Context, project: str, ident: str, nonce: str) -> None:
    """Present the proof, once. A coordinator whose own process is gone proves nothing: what it left behind may still be ticking."""
    seat = context.store.read(lambda rows: seats.seat(rows, project))
    if seat.candidate != ident:
        return
    if context.world.processes.life(Identity.parse(context.dispatch(ident).process or "")) != "alive":
        raise NotSeated(project=project, dispatch=ident, holder=seat.holder or "nobody")
    world = context.world
    prove(context.store, world.home, project=project, ident=ident, nonce=nonce, clock=world.clock, ids=world.ids)


def _work(context: Context, project: str) -> Told:
    told = Told()
    told.step("ended agents", lambda: tend_dispatches(context, project, told.troubles))
    told.step("the change of coordinators", lambda: replace.tend(context, project) + replace.retire(context, project))
    told.step("screens", lambda: screens.watch(context, project))
    told.step("failed turns and messages", lambda: failed_turns.tend(context, project))
    told.step("context", lambda: guard(context, project))
    told.step("handoffs", lambda: _drain(context, project))
    told.step("pull requests", lambda: pull_requests.nudge(context, project))
    told.step("stages", lambda: advance(context, project, told.troubles))
    told.step("coord-state.json", lambda: _reconcile(context))
    return told


def _drain(context: Context, project: str) -> list[str]:
    said = []
    for entry in handoff.drain(context, project):
        now = (
            f"waits: {entry['deferred']}"
            if entry["state"] == "queued"
            else f"{entry['state']}, by {entry['successor']}"
        )
        said.append(f"handoff of {entry['dispatch']}: {now}")
    return said


def _reconcile(context: Context) -> list[str]:
    reconcile(context, write=True)
    return []
