"""The daemon's duties together: each in a thread of its own, woken by changes and at intervals."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from fleet.surfaces.daemon.duties.boot import ResumeOnBoot
from fleet.surfaces.daemon.duties.coordinators import Coordinators
from fleet.surfaces.daemon.duties.deaths import Deaths
from fleet.surfaces.daemon.duties.duty import Duty, Rounds
from fleet.surfaces.daemon.duties.notifying import Notifying
from fleet.surfaces.daemon.duties.sweeping import Sweeping
from fleet.surfaces.daemon.duties.ticks import Ticks
from fleet.surfaces.daemon.duties.unattended import Unattended
from fleet.surfaces.daemon.duties.upkeep import Upkeep
from fleet.world.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fleet.api.fleet import Fleet
    from fleet.model.results.home import DutyStatus
    from fleet.surfaces.daemon.duties.duty import Log


class NewestOperation(Duty):
    """Tell the other duties of operations that were not committed by the daemon. It reads one number a round."""

    name = "changes"
    every = 1.0
    keeps_open = True

    def __init__(self, changed: Callable[[int], None]) -> None:
        self._changed = changed

    def run(self, fleet: Fleet) -> list[str]:
        """Read the newest operation's number and pass it on."""
        self._changed(fleet.operations.newest())
        return []


class Duties:
    """Everything that the daemon does without being asked."""

    def __init__(
        self,
        open_fleet: Callable[[], Fleet],
        log: Log,
        *,
        clock: Clock | None = None,
        duties: Iterable[Duty] | None = None,
    ) -> None:
        self._open = open_fleet
        self._log = log
        self._clock = clock or Clock()
        self._lock = threading.Lock()
        self._is_stopping = False
        self._seen = -1
        first = self._all_duties() if duties is None else duties
        self._rounds = [self._rounds_of(duty) for duty in [NewestOperation(self.changed), *first]]

    def _all_duties(self) -> list[Duty]:
        """Return the duties that every daemon has. The ticks of each project that it coordinates come later."""
        resumed = threading.Event()
        return [
            ResumeOnBoot(resumed),
            Coordinators(self._tick_for, after=resumed),
            Deaths(self._clock),
            Unattended(),
            Sweeping(),
            Upkeep(),
            Notifying(),
        ]

    def _tick_for(self, held: dict[str, str]) -> None:
        """Begin the ticks of coordinators that have none. Ticks whose coordinator has ended end by themselves."""
        with self._lock:
            self._rounds = [each for each in self._rounds if not each.is_over]
            duties = [each.duty for each in self._rounds]
            ticked = {duty.holder for duty in duties if isinstance(duty, Ticks)}
            missing = [Ticks(project, holder) for project, holder in held.items() if holder not in ticked]
            new = [] if self._is_stopping else [self._rounds_of(duty) for duty in missing]
            self._rounds += new
        for each in new:
            each.start()

    def start(self) -> None:
        """Start a thread for each duty."""
        for rounds in self._rounds:
            rounds.start()

    def stop(self, seconds: float) -> None:
        """Begin no further rounds; wait at most that many seconds in all for those that run."""
        with self._lock:
            self._is_stopping = True
            rounds = list(self._rounds)
        for each in rounds:
            each.stop()
        deadline = self._clock.ticks() + seconds
        for each in rounds:
            each.join(max(0.0, deadline - self._clock.ticks()))

    def changed(self, seq: int) -> None:
        """Wake the duties that wait for changes: there is an operation with this sequence now. Returns at once."""
        with self._lock:
            if seq <= self._seen:
                return
            self._seen = seq
            rounds = [each for each in self._rounds if each.duty.on_change]
        for each in rounds:
            each.wake()

    def status(self) -> list[DutyStatus]:
        """Return how each duty fares."""
        with self._lock:
            rounds = list(self._rounds)
        return [each.status() for each in rounds if not each.is_over]

    def _rounds_of(self, duty: Duty) -> Rounds:
        return Rounds(duty, self._open, self._log, self._clock)
