"""The simulated world of one home, as one simulated process sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.testing.simulated.cgroups import SimulatedCgroups
from fleet.testing.simulated.machine import SimulatedHost
from fleet.testing.simulated.processes import SimulatedKernel
from fleet.testing.simulated.tmux import SimulatedTmux
from fleet.world.process.pid_namespaces import PidNamespaces
from fleet.world.process.processes import Processes
from fleet.world.world import World

if TYPE_CHECKING:
    from fleet.testing.simulated.machine import SimulatedMachine
    from fleet.testing.simulated.processes import Process
    from fleet.world.funnel import Funnel
    from fleet.world.home.home_record import HomeRecord


class SimulatedWorld(World):
    """A world with a simulated clock, ids, processes, tmux and control groups; files, locks and git are real."""

    def __init__(
        self,
        home: str,
        funnel: Funnel,
        record: HomeRecord | None = None,
        *,
        machine: SimulatedMachine,
        process: Process | None = None,
    ) -> None:
        super().__init__(home, funnel, record)
        self.namespaces.leave()
        self.simulation = machine
        self.process = process or machine.table.spawn(machine.shell.pid, ["fleet"], cwd=home)
        self.clock, self.ids = machine.clock, machine.ids
        self.host = SimulatedHost(self.record.host, machine)
        self.namespaces = PidNamespaces(home, machine.boot, self.socket)
        self.namespaces.enter()
        kernel = SimulatedKernel(machine.table, self.process.pid)
        self.processes = Processes(self.host, funnel, home, self.socket, kernel=kernel, clock=self.clock)
        self.cgroups = SimulatedCgroups(
            funnel, self.record.id, programs=self.programs, machine=machine, pid=self.process.pid
        )
        self.tmux = SimulatedTmux(self, machine)

    def start_fleet(self, *words: str, for_person: bool = False, more: dict[str, str] | None = None) -> None:  # noqa: ARG002
        """Record the command that fleet would have started in the background, and whether a person asked for it."""
        self.funnel.through(f"start fleet {words[0]}", lambda: self.simulation.started.append(words))
        if for_person:
            self.simulation.started_for_person.append(words)
