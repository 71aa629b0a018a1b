"""Simulated control groups: plain folders. The table of processes knows their members."""

from __future__ import annotations

import errno
import glob
import os
from typing import TYPE_CHECKING

from fleet.world.process.cgroups import Cgroups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.testing.simulated.machine import SimulatedMachine
    from fleet.world.funnel import Funnel
    from fleet.world.process.programs import Programs


class SimulatedCgroups(Cgroups):
    """The control groups of one home's agents, as one process sees them. A machine may have none."""

    def __init__(
        self, funnel: Funnel, home_id: str, *, programs: Programs, machine: SimulatedMachine, pid: int
    ) -> None:
        super().__init__(funnel, home_id, programs=programs, clock=machine.clock)
        self._machine = machine
        self._pid = pid

    def place_for(self, dispatch: str, server: int) -> str | None:
        """Return the path of a dispatch's group; None when there are no groups, or the tmux server is dead."""
        root = self._machine.cgroups
        return f"{root}/fleet-{self._home_id}-{dispatch}" if root and server in self._machine.table.living else None

    def all_of_home(self, near: int) -> list[str]:
        """Return the paths of all groups of this home's agents; [] without any, or when the process `near` is dead."""
        beside = self.place_for("*", near)
        return sorted(glob.glob(beside)) if beside else []

    def view(self) -> str:
        """Return an id of how this process sees the control groups; always the same: simulated processes see them alike."""
        return "simulated"

    def join(self, path: str) -> str:
        """Move this process into a group; return the id of its view (see `view`), "" when the group does not exist."""

        def act() -> None:
            if os.path.isdir(path):
                self._machine.table.living[self._pid].group = path

        self._funnel.through("join cgroup", act)
        return self.view() if self._machine.table.living[self._pid].group == path else ""

    def members(self, path: str) -> list[int]:
        """Return the pids in a group and in the groups within it."""
        return [each.pid for each in self._machine.table.entries() if f"{each.group}/".startswith(f"{path}/")]

    def remove(self, path: str) -> None:
        """Remove an empty group; raise OSError while a process is in it."""
        if self.members(path):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), path)
        super().remove(path)

    def outside(self, words: Sequence[str], *, must: bool = False) -> list[str]:  # noqa: ARG002
        """Return the words unchanged: programs that are really started are in no simulated group."""
        return list(words)
