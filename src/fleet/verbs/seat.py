"""The seat: one coordinator a project. Spawning one passes the coord-spawn gate, which is held until the spawn has returned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.errors import BadInput, CoordinatorLives, CoordSpawnInProgress, GateHeld
from fleet.model.dispatches import UNFINISHED
from fleet.model.identity import Identity
from fleet.store import queries as q
from fleet.verbs.dispatch import Wanted, dispatch
from fleet.verbs.settle import settle, why_alive

if TYPE_CHECKING:
    from fleet.store.transaction import Row
    from fleet.verbs.ground import Ground
    from fleet.world.gates import Gate


def coord_spawn(ground: Ground, wanted: Wanted) -> dict[str, Any]:
    """Start the coordinator. A living or unknown one vetoes; one that is proven dead is settled and replaced."""
    if not wanted.project:
        raise BadInput(what="--coord-spawn needs a project: say -p PROJECT")
    gate = ground.world.project_gate(wanted.project, "coord-spawn")
    try:
        gate.take()
    except GateHeld:
        raise _in_progress(wanted.project, gate) from None
    try:
        ground.project(wanted.project)
        _settle_or_veto(ground, wanted.project)
        return dispatch(ground, wanted)
    finally:
        gate.give()


def _in_progress(project: str, gate: Gate) -> CoordSpawnInProgress:
    holder = gate.holder()
    return CoordSpawnInProgress(project=project, holder=f"pid={holder.pid}" if holder else "unknown process")


def _settle_or_veto(ground: Ground, project: str) -> None:
    holder = holder_of(ground, project)
    if holder is None or holder["exec_state"] not in UNFINISHED:
        return
    if not why_alive(ground, holder, ground.world.tmux.listing()):
        settle(ground, holder["id"])
        return
    life = ground.world.processes.life(Identity.parse(holder["process"] or holder["spawner"]))
    raise CoordinatorLives(
        project=project,
        life="starting" if holder["exec_state"] == "pending" else life,
        dispatch=holder["id"],
        host=holder["host"],
        socket=holder["tmux_socket"],
    )


def holder_of(ground: Ground, project: str) -> Row | None:
    """The journal of the coordinator in the seat."""
    seat = ground.store.read(lambda rows: rows.one(q.SEAT_OF, project=project))
    if seat is None or seat["holder"] is None:
        return None
    return ground.store.read(lambda rows: rows.one(q.DISPATCH_BY_ID, id=seat["holder"]))
