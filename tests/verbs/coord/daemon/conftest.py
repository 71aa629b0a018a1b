"""A simulated daemon: a process of its own that has the home open and says that it is the daemon."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fleet.api.fleet import Fleet
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.files.daemon_process import DaemonProcess

_GIVEN = "# given by the test\n"
OWN_LOOP = Wanted(project=PROJECT, slug=None, kind="coord", engine="fleet")


def start_daemon(scene: SimulatedScene) -> Fleet:
    """Start a process that is the daemon, and return its fleet. It holds the daemon's gate."""
    fleet = scene.open("fleet-daemon")
    fleet.daemon = fleet.world.daemon = DaemonProcess()
    fleet.held_gate = fleet.world.daemon_gate()
    fleet.held_gate.take()
    return fleet


def set_up(scene: SimulatedScene, settings: str) -> None:
    """Give the home further settings, instead of those that an earlier call gave it."""
    path = Path(scene.home, "config.toml")
    kept = path.read_text().partition(_GIVEN)[0]
    path.write_text(f"{kept}{_GIVEN}{settings}")


@pytest.fixture
def ready(scene: SimulatedScene) -> str:
    """A ready task whose agent a tick can start."""
    folder = Path(scene.home, "engines")
    folder.mkdir()
    text = 'summary = "sleeps"\nprogram = "sleep"\nstart = ["{program}", "1000"]\ninteractive = false\n'
    Path(folder, "sleeper.toml").write_text(text)
    scene.fleet.tasks.add(project=PROJECT, title="work", slug="work", engine="sleeper")
    return "work"


@pytest.fixture
def daemon(scene: SimulatedScene) -> Fleet:
    return start_daemon(scene)


@pytest.fixture
def die(scene: SimulatedScene) -> Callable[[Fleet], None]:
    """Let the process of a daemon die, as SIGKILL would: its gate is free, the file of the gate names it still."""

    def act(daemon: Fleet) -> None:
        scene.machine.table.exit(scene.process_of(daemon), 137)
        daemon.held_gate.forget()

    return act
