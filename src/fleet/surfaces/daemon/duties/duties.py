"""Run all duties of the daemon: each in its own thread, woken by changes and at intervals."""

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
    """Duty that tells the other duties when another process has committed an operation. It reads one number each round."""

    name = "changes"
    every = 1.0
    keeps_open = True

    def __init__(self, changed: Callable[[int], None]) -> None:
        self._changed = changed

    def run(self, fleet: Fleet) -> list[str]:
        """Wake the duties that wait for changes if there is a new operation. Returns []: no lines for the log."""
        self._changed(fleet.operations.newest())
        return []


class Duties:
    """All duties of the daemon, and their threads.

    `duties` replaces the duties that every daemon has; tests give it. NewestOperation is added to them in any case.
    """

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
        # The number of the newest operation of which the duties were told.
        self._seen = -1
        first = self._all_duties() if duties is None else duties
        self._rounds = [self._rounds_of(duty) for duty in [NewestOperation(self.changed), *first]]

    def _all_duties(self) -> list[Duty]:
        """Return the duties that every daemon has. `_tick_for` adds one for each project that it coordinates."""
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
        """Start a duty `Ticks` for each coordinator in `held` (dispatch ids by project), unless it has one already.

        Such a duty ends by itself when its coordinator has ended. Nothing is started after `stop`.
        """
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
        """Let no duty begin another round, and wait at most this many seconds in all for the running rounds."""
        with self._lock:
            self._is_stopping = True
            rounds = list(self._rounds)
        for each in rounds:
            each.stop()
        deadline = self._clock.ticks() + seconds
        for each in rounds:
            each.join(max(0.0, deadline - self._clock.ticks()))

    def changed(self, seq: int) -> None:
        """Wake the duties that wait for changes, because operation number `seq` was committed. Returns at once.

        Do nothing when they were told of this operation, or of a later one, before.
        """
        with self._lock:
            if seq <= self._seen:
                return
            self._seen = seq
            rounds = [each for each in self._rounds if each.duty.on_change]
        for each in rounds:
            each.wake()

    def status(self) -> list[DutyStatus]:
        """Return the state of each duty that is not over: its rounds, failures and next run."""
        with self._lock:
            rounds = list(self._rounds)
        return [each.status() for each in rounds if not each.is_over]

    def _rounds_of(self, duty: Duty) -> Rounds:
        return Rounds(duty, self._open, self._log, self._clock)
