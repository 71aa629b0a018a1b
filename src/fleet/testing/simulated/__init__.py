"""A simulated world: verbs run in it within milliseconds, and in states that a real machine seldom has.

The clock, ids, processes, tmux and control groups are simulated. The store (SQLite in its own folder), files, locks and
git (a small repository) are real: a simulated git would prove nothing about merging.

tests/contract/test_worlds.py holds both worlds to the same contract.
"""

from fleet.testing.simulated.clock import SimulatedClock
from fleet.testing.simulated.machine import SimulatedMachine
from fleet.testing.simulated.processes import Process
from fleet.testing.simulated.scene import SimulatedScene
from fleet.testing.simulated.tmux import SimulatedPane, SimulatedServer
from fleet.testing.simulated.world import SimulatedWorld

__all__ = [
    "Process",
    "SimulatedClock",
    "SimulatedMachine",
    "SimulatedPane",
    "SimulatedScene",
    "SimulatedServer",
    "SimulatedWorld",
]
