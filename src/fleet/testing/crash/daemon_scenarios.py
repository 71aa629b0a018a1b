"""Crash scenarios of the coordinators that a daemon plays itself: replace one, let one tick, and stop one.

A seat is held when a living daemon plays its coordinator, and lost when that daemon has died.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from fleet import errors
from fleet.store import seats
from fleet.testing.crash.scenarios import Scenario, add_bystander, until
from fleet.testing.scene import PROJECT, Scene
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.files.daemon_process import DaemonProcess

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.api.fleet import Fleet

_OWN_LOOP = Wanted(project=PROJECT, slug=None, kind="coord", engine="fleet")
_ENGINE = 'summary = "sleeps"\nprogram = "sleep"\nstart = ["{program}", "1000"]\ninteractive = false\n'
_SLUG = "t"
_LOOK_AGAIN = 0.05


def _become_daemon(fleet: Fleet) -> None:
    """Make this process the daemon of the home, until it ends."""
    fleet.world.daemon = fleet.daemon = DaemonProcess()
    fleet.world.daemon_gate().take(wait=10.0)


def _do_rounds(fleet: Fleet, rounds: int) -> None:
    """Do the daemon's duties for seats this many times: take each lost seat again, and tick for each held seat."""
    for _ in range(rounds):
        for ident in fleet.coord.lost().values():
            with contextlib.suppress(errors.NotSeated):
                fleet.coord.start(_OWN_LOOP, after=ident)
        for project, ident in fleet.coord.held().items():
            done = fleet.coord.tick_held(project, ident).done
            if done:
                fleet.coord.write_log(ident, done)


def _in_child(scene: Scene, act: Callable[[Fleet], object]) -> int:
    """Call a function with an opened fleet in a child process; return the child's exit code: 3 when `act` raised."""
    child = os.fork()
    if child == 0:
        code = 3
        try:
            scene.watcher = None
            with scene.fleet("fleet-daemon") as fleet:
                act(fleet)
            code = 0
        except BaseException as error:  # noqa: BLE001 - the parent is told
            os.write(2, f"in the child: {error!r}\n".encode())
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# a seat is taken anew ---------------------------------------------------------------------------------------------------
def _lose_seat(scene: Scene) -> None:
    """Prepare the scene: a daemon takes the seat and dies."""
    add_bystander(scene)
    _in_child(scene, _hold_and_tick)


def _take_anew(fleet: Fleet) -> None:
    """Become the daemon and take the lost seat again: the act that is killed."""
    _become_daemon(fleet)
    _do_rounds(fleet, 1)


def _next_daemon(scene: Scene) -> list[str]:
    """Let another daemon do its duties; return a fault unless it holds the seat."""

    def act(fleet: Fleet) -> None:
        """Do the daemon's duties twice in the child, and write how many seats it holds into a file of the scene."""
        _become_daemon(fleet)
        _do_rounds(fleet, 2)
        Path(scene.root, "held").write_text(str(len(fleet.coord.held())), encoding="utf-8")

    code = _in_child(scene, act)
    held = Path(scene.root, "held").read_text(encoding="utf-8") if code == 0 else ""
    return [] if held == "1" else [f"the next daemon ended with {code} and held {held or 'nothing'}"]


def _check_lost(scene: Scene) -> list[str]:
    """Return faults unless the dead daemon's coordinator holds the seat, with no other coordinator or candidate."""
    with scene.fleet() as fleet:
        seat = fleet.store.read(lambda rows: seats.seat(rows, PROJECT))
        living = [agent.id for agent in fleet.agents.list() if agent.kind == "coord"]
        lost = fleet.coord.lost()
    faults = [] if lost == {PROJECT: seat.holder} else [f"{seat} is not the seat of a dead daemon: {lost}"]
    return [*faults, *([f"a candidate waits: {seat.candidate}"] if seat.candidate else []), *living]


# a tick of a held seat starts an agent ----------------------------------------------------------------------------------
def _add_ready_task(scene: Scene) -> None:
    """Prepare the scene: a task on which a tick can start an agent."""
    add_bystander(scene)
    engines = Path(scene.home, "engines")
    engines.mkdir(exist_ok=True)
    Path(engines, "sleeper.toml").write_text(_ENGINE, encoding="utf-8")
    with scene.fleet() as fleet:
        fleet.tasks.add(project=PROJECT, title="work", slug=_SLUG, engine="sleeper")


def _hold_and_tick(fleet: Fleet) -> None:
    """Become the daemon, take the seat (or take it again), and tick: the act that is killed."""
    _become_daemon(fleet)
    if not fleet.coord.lost():
        fleet.coord.start(_OWN_LOOP)
    _do_rounds(fleet, 1)


def _hold_again(scene: Scene) -> list[str]:
    """Let one daemon after another do its duties until the task has exactly one agent, which runs; return no faults."""

    def is_over() -> bool:
        """Let one more daemon tick, and return whether the task then has exactly one agent, which runs."""
        code = _in_child(scene, _hold_and_tick)
        with scene.fleet() as fleet:
            agents = [agent for agent in fleet.agents.list() if agent.task == _SLUG]
            return code == 0 and [agent.state for agent in agents] == ["running"]

    until(is_over)
    return []


def _check_agent(scene: Scene) -> list[str]:
    """Return faults unless exactly one agent has the task; return those of `_check_lost`, too."""
    with scene.fleet() as fleet:
        agents = [agent.id for agent in fleet.agents.list() if agent.task == _SLUG]
        task = fleet.tasks.show(project=PROJECT, slug=_SLUG)
    faults = [] if [task.assignee] == agents else [f"{task.assignee} has the task, and {agents} work"]
    return [*faults, *_check_lost(scene)]


# a held seat is stopped -------------------------------------------------------------------------------------------------
def _hold_until_over(scene: Scene) -> None:
    """Prepare the scene: a daemon that takes the seat, ticks, and runs until the scene's file `daemon` is removed."""
    add_bystander(scene)
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            scene.watcher = None
            with scene.fleet("fleet-daemon") as fleet:
                _hold_and_tick(fleet)
                Path(scene.root, "daemon").write_text(str(os.getpid()), encoding="utf-8")
                while Path(scene.root, "daemon").exists():
                    time.sleep(_LOOK_AGAIN)
        os._exit(0)
    until(Path(scene.root, "daemon").exists)


def _stop(fleet: Fleet) -> None:
    """Do the act that this scenario kills: stop the coordinator, unless its seat is empty already."""
    with contextlib.suppress(errors.NoCoordinator):
        fleet.coord.stop(PROJECT, "enough")


def _stop_again(scene: Scene) -> list[str]:
    """Stop the coordinator again after the death; return no faults."""
    with scene.fleet("again") as fleet:
        _stop(fleet)
    return []


def _check_stopped(scene: Scene) -> list[str]:
    """Let the daemon exit; return faults unless it was alive until then, the seat is empty and no agent is left."""
    with scene.fleet() as fleet:
        seat = fleet.store.read(lambda rows: seats.seat(rows, PROJECT))
        agents = [agent.id for agent in fleet.agents.list()]
    pid = int(Path(scene.root, "daemon").read_text(encoding="utf-8"))
    ended = os.waitpid(pid, os.WNOHANG)[0] == pid
    Path(scene.root, "daemon").unlink()
    if not ended:
        os.waitpid(pid, 0)
    faults = ["the daemon was ended"] if ended else []
    return [*faults, *([f"{seat} is not empty"] if seat.holder or seat.candidate else []), *agents]


DAEMON_SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(name="take-anew", prepare=_lose_seat, act=_take_anew, after_death=_next_daemon, check=_check_lost),
        Scenario(
            name="held-tick", prepare=_add_ready_task, act=_hold_and_tick, after_death=_hold_again, check=_check_agent
        ),
        Scenario(name="dismiss", prepare=_hold_until_over, act=_stop, after_death=_stop_again, check=_check_stopped),
    )
}
