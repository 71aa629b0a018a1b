"""A simulated machine: its clock, boot, processes and tmux servers."""

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
    """The simulated machine, as a home sees it."""

    def __init__(self, kept: str, machine: SimulatedMachine) -> None:
        super().__init__(kept)
        self._machine = machine

    @property
    def name(self) -> str:
        """Return the name of the machine, for people."""
        return "simulated"

    @property
    def machine_id(self) -> str:
        """Return the id of the machine."""
        return self._machine.ident

    @property
    def boot(self) -> str:
        """Return the id of the current boot; empty when it is unknown."""
        return self._machine.boot


class SimulatedMachine:
    """What the simulated worlds of one test share. Every fleet is a process below the person's shell."""

    def __init__(self, *, cgroups: str = "") -> None:
        self.clock = SimulatedClock()
        self.ids = SimulatedIds()
        # The id of the real machine.
        self.ident = Host().machine_id
        # The folder of the control groups; empty when the machine has none.
        self.cgroups = cgroups
        # The living tmux servers, by the pids of their processes; the newest last.
        self.servers: dict[int, SimulatedServer] = {}
        # The words of each fleet command that would have been started in the background.
        self.started: list[tuple[str, ...]] = []
        # Those of them that a person has asked for.
        self.started_for_person: list[tuple[str, ...]] = []
        # The terminals attached to tmux: each one's device and its name.
        self.terminals: list[tuple[str, str]] = []
        self._boots = 0
        self.start()

    def start(self) -> None:
        """Boot the machine, or boot it again: all processes are gone, and worlds that were opened before are useless."""
        self._boots += 1
        self.boot = f"boot-{self._boots}"
        self.servers.clear()
        self.table = ProcessTable(self.clock)
        self.shell = self.table.spawn(FIRST, ["bash"], environment=_clean_environment(), leads_session=True)
        self.shell.has_terminal = True

    def process(self, who: Identity | None) -> Process:
        """Return the process with this identity, a zombie too; raise LookupError when there is none."""
        process = self.table.living.get(who.pid) if who else None
        if who is None or process is None or process.start != who.start:
            msg = f"{who} does not live"
            raise LookupError(msg)
        return process

    @contextlib.contextmanager
    def surroundings(self, process: Process) -> Iterator[None]:
        """Run the block with the environment of a simulated process."""
        with patch.dict(os.environ, process.environment, clear=True):
            yield


def _clean_environment() -> dict[str, str]:
    """Return this process's environment without the variables of fleet, tmux and git."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("FLEET_", "TMUX", "GIT_"))}
