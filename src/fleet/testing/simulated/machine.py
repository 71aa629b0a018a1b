"""One simulated machine: its clock, its boot, its processes and the tmux servers among them."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING
from unittest.mock import patch

from fleet.testing.simulated.clock import SimulatedClock
from fleet.testing.simulated.ids import SimulatedIds
from fleet.testing.simulated.processes import FIRST, ProcessTable
from fleet.world.host import Host

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.model.identity import Identity
    from fleet.testing.simulated.processes import Process
    from fleet.testing.simulated.tmux import SimulatedServer


class SimulatedHost(Host):
    """The machine as a home sees it."""

    def __init__(self, kept: str, machine: SimulatedMachine) -> None:
        super().__init__(kept)
        self._machine = machine

    @property
    def name(self) -> str:
        """What people call it."""
        return "simulated"

    @property
    def machine(self) -> str:
        """The machine's own id."""
        return self._machine.ident

    @property
    def boot(self) -> str:
        """Another text after each boot; empty when that cannot be told."""
        return self._machine.boot


class SimulatedMachine:
    """What all simulated worlds of a test share. A shell is a person's; every fleet is a process below it."""

    def __init__(self, *, cgroups: str = "") -> None:
        self.clock = SimulatedClock()
        self.ids = SimulatedIds()
        self.ident = Host().machine
        # The folder in which control groups are made; empty: there are none.
        self.cgroups = cgroups
        self.servers: dict[int, SimulatedServer] = {}
        # What was to be started by itself: the words of each fleet.
        self.started: list[tuple[str, ...]] = []
        self._boots = 0
        self.start()

    def start(self) -> None:
        """Boot, or boot again: nobody from before is left. Worlds that were opened before are of no use any more."""
        self._boots += 1
        self.boot = f"boot-{self._boots}"
        self.servers.clear()
        self.table = ProcessTable(self.clock)
        self.shell = self.table.spawn(FIRST, ["bash"], environment=_surroundings(), leads_session=True)
        self.shell.has_terminal = True

    def process(self, who: Identity | None) -> Process:
        """The living process with an identity."""
        process = self.table.living.get(who.pid) if who else None
        if who is None or process is None or process.start != who.start:
            msg = f"{who} does not live"
            raise LookupError(msg)
        return process

    @contextlib.contextmanager
    def surroundings(self, process: Process) -> Iterator[None]:
        """Act with the environment of a process."""
        with patch.dict(os.environ, process.environment, clear=True):
            yield


def _surroundings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("FLEET_", "TMUX", "GIT_"))}
