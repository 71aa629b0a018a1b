"""Settle agents that have died.

The kernel reports each exit; where it cannot, the processes are checked once a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.surfaces.daemon.duties.duty import Duty
from fleet.surfaces.daemon.duties.exits import Exits
from fleet.surfaces.daemon.duties.schedule import wait_after_failures

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.api.fleet import Fleet
    from fleet.model.identity import Identity
    from fleet.world.clock import Clock

# Seconds between two checks while some exits are not reported, or an agent waits for another try.
_LOOK = 1.0
# Seconds between two checks while the kernel reports the exit of every process.
_TOLD = 30.0
# Seconds that the runner of a job has to settle its item before this duty does.
_FIRST = 2.0


class Deaths(Duty):
    """Duty that notices when agents die, without a process for each agent, and settles their dispatches.

    It asks the kernel, not tmux: no program is started for this, and a process that the kernel calls dead is dead.
    Settle then asks tmux for the exit status. An agent that cannot be settled yet is tried again after longer and
    longer waits. The item of a job is left to the job's runner for the first 2 seconds.
    """

    name = "deaths"
    on_change = True
    apart = 0.5
    keeps_open = True

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # For each dead agent that has to wait: how often settling it has failed, and the time of the monotonic clock at
        # which it is tried next.
        self._later: dict[str, tuple[int, float]] = {}
        self._exits: Exits | None = None

    def begin(self, wake: Callable[[], None]) -> None:
        """Start watching exits: call `wake` whenever an agent's process exits."""
        self._exits = Exits(wake)

    def end(self) -> None:
        """Stop watching exits."""
        if self._exits is not None:
            self._exits.end()

    def run(self, fleet: Fleet) -> list[str]:
        """Settle the dead agents that do not have to wait, and watch the living ones, to be told when they exit.

        Returns a line for the daemon's log about each agent that was settled, or that could not be settled at the first
        try.
        """
        dead, alive, others, awaited = fleet.sessions.deaths()
        self._later = {ident: later for ident, later in self._later.items() if ident in dead}
        for ident in awaited:
            self._later.setdefault(ident, (0, self._clock.ticks() + _FIRST))
        lines = [line for ident in dead if self._is_due(ident) and (line := self._settle(fleet, ident))]
        self.every = self._seconds_to_next(fleet, alive, others)
        return lines

    def _seconds_to_next(self, fleet: Fleet, alive: list[Identity], others: int) -> float | None:
        """Watch the processes `alive`, and return the seconds until the next check; None when there are no agents.

        That is 1 second while a dead agent is not settled, or while the kernel does not report the exit of every other
        agent; else 30. `others` is the number of agents that are not dead, also of those whose process is unknown.
        """
        are_told = self._exits is not None and self._exits.watch(fleet.world.processes, alive)
        if self._later or (others and not (are_told and len(alive) == others)):
            return _LOOK
        return _TOLD if others else None

    def _is_due(self, ident: str) -> bool:
        """Whether a dead agent is to be settled in this round.

        It is, unless it still has to wait: for the runner of its job, or for another try after one that failed.
        """
        return ident not in self._later or self._clock.ticks() >= self._later[ident][1]

    def _settle(self, fleet: Fleet, ident: str) -> str:
        """Try to settle one dead agent, and schedule the next try when that fails.

        Returns a line for the daemon's log; "" when there is nothing new to say.
        """
        try:
            ended = fleet.sessions.settle_soon(ident)
        except errors.NoSuchDispatch:
            return ""
        if ended.settled:
            return f"{ident} has ended: {ended.exec_state}"
        tries = self._later.get(ident, (0, 0.0))[0] + 1
        self._later[ident] = tries, self._clock.ticks() + wait_after_failures(tries)
        return f"{ident} has died and is not settled: {ended.why}" if tries == 1 else ""
