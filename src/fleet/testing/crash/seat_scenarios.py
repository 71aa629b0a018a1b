"""Crash scenarios around the coordinator's seat: a Replace, the proof of a new coordinator, and a handoff."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model import FLEET_DISPATCH_ID, FLEET_PROJECT
from fleet.model.branches import task_branch
from fleet.model.dispatch.one_time_proof import VARIABLE
from fleet.model.identity import Identity
from fleet.store import queries as q
from fleet.store import seats
from fleet.testing.crash.scenarios import COMMIT, Scenario, add_bystander, sweep_home, until
from fleet.testing.scene import PROJECT, Scene
from fleet.verbs.coord import replace
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.store.queries import Seat

# The command of a coordinator that ticks once, which proves that it works, and of one that never ticks.
PROVES = ("sh", "-c", "fleet coord tick; exec sleep 1000")
SLEEPS = ("sleep", "1000")
_LONG = 600.0


def _wanted_coordinator(*words: str, proof: float | None = None) -> Wanted:
    """Return the order to start a coordinator that runs the command `words`.

    `proof` is how many seconds it has to prove itself; None for the limit of its engine.
    """
    return Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=words, proof=proof)


def _seat(fleet: Fleet) -> Seat:
    return fleet.store.read(lambda rows: seats.seat(rows, PROJECT))


def _wait_for_launch(fleet: Fleet, ident: str) -> Identity:
    """Wait until a dispatch is launched; return the identity of its process."""
    until(lambda: fleet.context.dispatch(ident).process)
    who = Identity.parse(fleet.context.dispatch(ident).process or "")
    if who is None:
        msg = f"{ident} was launched without a process"
        raise RuntimeError(msg)
    return who


# replace ----------------------------------------------------------------------------------------------------------------
def _start_old_coordinator(scene: Scene) -> None:
    """Prepare the scene: the coordinator that will be replaced, with its id in a file of the scene."""
    add_bystander(scene)
    with scene.fleet() as fleet:
        ident = fleet.coord.start(_wanted_coordinator(*SLEEPS)).id
        _wait_for_launch(fleet, ident)
    Path(scene.root, "old").write_text(ident, encoding="utf-8")


def _replace(fleet: Fleet) -> None:
    """Do the act that this scenario kills: replace the coordinator by one that proves itself."""
    fleet.coord.replace(_wanted_coordinator(*PROVES, proof=_LONG))


def _start_again(scene: Scene) -> list[str]:
    """Call `coord start` until the Replace has succeeded or was given up; return no faults."""
    with scene.fleet("again") as fleet:

        def is_over() -> bool:
            """Call `coord start` once, and return whether the seat has no candidate any more."""
            with contextlib.suppress(errors.CoordinatorLives, errors.GateHeld):
                fleet.coord.start(_wanted_coordinator(*PROVES))
            return _seat(fleet).candidate is None

        until(is_over)
    return []


def _recover_replace(scene: Scene) -> None:
    """Call `coord start` until the Replace is over, then sweep."""
    _start_again(scene)
    sweep_home(scene)


def _check_seat(scene: Scene) -> list[str]:
    """Return faults unless exactly one coordinator lives and holds the seat.

    If it is a new one, it must have got its resume prompt once; the old one must have got none.
    """
    with scene.fleet() as fleet:
        holder = _seat(fleet).holder
        living = [agent.id for agent in fleet.agents.list()]
        messages = fleet.store.read(q.all_messages)
    faults = [] if living == [holder] else [f"{holder} is in the seat, and {living} live"]
    proven = [row.dispatch for row in messages if row.kind == "resume"]
    new = holder != Path(scene.root, "old").read_text(encoding="utf-8")
    return faults if proven == ([holder] if new else []) else [*faults, f"resume prompts of {proven}"]


# prove ------------------------------------------------------------------------------------------------------------------
def _start_candidate(scene: Scene) -> None:
    """Prepare the scene: a launched candidate that has not ticked, with its nonce in a file of the scene."""
    _start_old_coordinator(scene)
    with scene.fleet() as fleet:
        ident = replace.start_candidate(fleet.context, _wanted_coordinator(*SLEEPS, proof=_LONG)).id
        pid = _wait_for_launch(fleet, ident).pid
        until(lambda: _environment(pid).get(VARIABLE))
        Path(scene.root, "new").write_text(f"{ident} {_environment(pid)[VARIABLE]}", encoding="utf-8")


def _environment(pid: int) -> dict[str, str]:
    """Return the environment variables of a process."""
    entries = Path(f"/proc/{pid}/environ").read_text(encoding="utf-8").split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def _prove(fleet: Fleet) -> None:
    """Do the act that this scenario kills: tick in the name of the new coordinator, which proves that it works.

    Acknowledge the messages that the tick brings; write the id of each into the file `applied`, if it is not there.
    """
    root = Path(fleet.home).parent
    ident, nonce = (root / "new").read_text(encoding="utf-8").split()
    os.environ |= {FLEET_DISPATCH_ID: ident, FLEET_PROJECT: PROJECT, VARIABLE: nonce}
    try:
        with Fleet.open(fleet.home) as mine:
            mine.funnel.watcher = fleet.funnel.watcher
            ids = [message.id for message in mine.coord.tick(PROJECT).messages]
            applied = root / "applied"
            before = applied.read_text(encoding="utf-8").split() if applied.exists() else []
            applied.write_text("\n".join(dict.fromkeys([*before, *ids])), encoding="utf-8")
            if ids:
                mine.messages.acknowledge(ids)
    finally:
        for name in (FLEET_DISPATCH_ID, FLEET_PROJECT, VARIABLE):
            del os.environ[name]


def _tick_again(scene: Scene) -> list[str]:
    """Tick as the new coordinator until the old one has ended and every message is acknowledged; return no faults."""
    with scene.fleet() as fleet:

        def is_over() -> bool:
            """Tick once, and return whether the old coordinator has ended and every message is acknowledged."""
            _prove(fleet)
            waiting = fleet.store.read(q.all_messages)
            return not fleet.coord.show(PROJECT).retiring and all(row.acknowledged_at for row in waiting)

        until(is_over)
    return []


def _check_proof(scene: Scene) -> list[str]:
    """Return faults unless the new coordinator holds the seat and has applied exactly one message."""
    with scene.fleet() as fleet:
        seat = _seat(fleet)
    new = Path(scene.root, "new").read_text(encoding="utf-8").split()[0]
    faults = [] if (seat.holder, seat.epoch) == (new, 2) else [f"the seat is {seat}"]
    applied = Path(scene.root, "applied").read_text(encoding="utf-8").split()
    return [*faults, *_check_seat(scene), *([] if len(applied) == 1 else [f"applied: {applied}"])]


# drain ------------------------------------------------------------------------------------------------------------------
# The command of an agent that commits once, even if it is started again, and then sleeps.
HALF = ("sh", "-c", f"test -e a.txt || (echo hello >a.txt && {COMMIT}); exec sleep 1000")


def _queue_handoff(scene: Scene) -> None:
    """Prepare the scene: a worker that has committed, and its queued handoff."""
    add_bystander(scene)
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", *HALF)
        until(lambda: "Add a" in scene.git("log", "--format=%s", task_branch("t")))
        fleet.coord.hand_off(ident, reason="full", written="mind the gap")
    Path(scene.root, "old").write_text(ident, encoding="utf-8")


def _drain(fleet: Fleet) -> None:
    """Do the act that this scenario kills: carry the handoff on until it is finished."""
    fleet.coord.finish_handoff(fleet.coord.handoffs(PROJECT)[0].id, limit=_LONG)


def _drain_again(scene: Scene) -> list[str]:
    """Sweep, and carry out the handoff again after the death; return a fault if that is refused."""
    with scene.fleet("again") as fleet:
        fleet.sweep.run(kill=True)
        try:
            _drain(fleet)
        except errors.FleetError as error:
            return [f"it cannot be drained: {error}"]
    return []


def _check_drain(scene: Scene) -> list[str]:
    """Return faults unless one successor has the bundle, with the old worker's commits and handoff text."""
    old = Path(scene.root, "old").read_text(encoding="utf-8")
    with scene.fleet() as fleet:
        [entry], task = fleet.coord.handoffs(PROJECT), fleet.tasks.show(project=PROJECT, slug="t")
        living = [agent.id for agent in fleet.agents.list()]
        prompts = [fleet.files_of_home(f"{paths.INBOX}/{name}") for name in fleet.files.names(paths.INBOX)]
        lineage = [fleet.dispatches.show(ident).predecessor for ident in living]
    faults = [] if (entry.state, [entry.successor]) == ("done", living) else [f"{entry}, and {living} live"]
    if ([task.assignee], lineage) != (living, [old]):
        faults.append(f"the task is with {task.assignee}, after {lineage}")
    if len(prompts) != 1 or "mind the gap" not in prompts[0]:
        faults.append(f"{len(prompts)} prompts")
    return faults if scene.git("show", f"{task_branch('t')}:a.txt") == "hello" else [*faults, "its work was lost"]


SEAT_SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            name="replace",
            prepare=_start_old_coordinator,
            act=_replace,
            after_death=_start_again,
            check=_check_seat,
            recover=_recover_replace,
        ),
        Scenario(name="prove", prepare=_start_candidate, act=_prove, after_death=_tick_again, check=_check_proof),
        Scenario(name="drain", prepare=_queue_handoff, act=_drain, after_death=_drain_again, check=_check_drain),
    )
}
