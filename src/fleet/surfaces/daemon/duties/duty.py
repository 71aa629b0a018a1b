"""Duty, the base class of everything that the daemon does regularly, and Rounds, which runs one duty in a thread."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.results.home import DutyStatus
from fleet.model.text.times import SECOND, iso, iso_or_none
from fleet.surfaces.daemon.duties.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from fleet.api.fleet import Fleet
    from fleet.world.clock import Clock

    class Log(Protocol):
        """Writes one line into the daemon's log: the name of the event, and facts by name."""

        def __call__(self, event: str, /, **facts: object) -> None: ...


class DutyOver(Exception):
    """Raised by a duty that has nothing more to do, for example because another coordinator has the seat."""


class NotNow(Exception):
    """Raised by a duty that cannot run at this moment, for example because another process does the same.

    The duty is tried again soon, and this does not count as a failure.
    """


class Duty:
    """One thing that the daemon does regularly, in rounds.

    `every`: seconds between rounds without news; None: only news begins a round. `apart`: least seconds between two
    rounds. `delay`: seconds before the first round. `on_change`: each new operation is news. `keeps_open`: the home
    stays open between rounds.
    """

    name = ""
    # Seconds between rounds when nothing changes; None: only news begins a round.
    every: float | None = None
    # The least seconds between two rounds.
    apart = 1.0
    # Seconds from the daemon's start to the first round.
    delay = 0.0
    # Whether each new operation begins a round.
    on_change = False
    # Whether the home stays open between rounds: for rounds that are short and frequent.
    keeps_open = False

    def run(self, fleet: Fleet) -> list[str]:
        """Do one round. Returns a line for the daemon's log about each thing done.

        Raises DutyOver when the duty has nothing more to do, and NotNow when it cannot run at this moment.
        """
        raise NotImplementedError

    def remark(self) -> str | None:
        """Return what a person should know about the duty now, for `fleet daemon status`; None for nothing."""
        return None

    def begin(self, wake: Callable[[], None]) -> None:
        """Prepare for the first round. `wake` begins a round at once, from any thread."""

    def end(self) -> None:
        """Close what stays open between rounds, after the last round."""


class Rounds:
    """Runs the rounds of one duty in a thread of its own. A round that fails does not affect other duties."""

    def __init__(self, duty: Duty, open_fleet: Callable[[], Fleet], log: Log, clock: Clock) -> None:
        self.duty = duty
        self._open = open_fleet
        self._log = log
        self._clock = clock
        self._schedule = Schedule(every=duty.every, apart=duty.apart, begins=clock.ticks() + duty.delay)
        self._news = threading.Condition()
        self._is_stopping = False
        self._is_running = False
        self._ran_at: int | None = None
        self._error: str | None = None
        self._fleet: Fleet | None = None
        self._thread = threading.Thread(target=self._repeat, name=f"duty {duty.name}", daemon=True)

    def start(self) -> None:
        """Start the thread of the duty."""
        self.duty.begin(self.wake_at_once)
        self._thread.start()

    def wake(self) -> None:
        """Let the next round begin as soon as the schedule allows, because there is news. Returns at once."""
        with self._news:
            if not self._schedule.has_news:
                self._schedule.has_news = True
                self._news.notify()

    def wake_at_once(self) -> None:
        """Let the next round begin at once, because there is news that cannot wait.

        After a failed round, the wait until the next try still applies.
        """
        with self._news:
            self._schedule.is_urgent = True
            self._news.notify()

    def stop(self) -> None:
        """Let the duty begin no further round."""
        with self._news:
            self._is_stopping = True
            self._news.notify()

    def join(self, seconds: float) -> bool:
        """Wait at most this many seconds for the duty's thread to end, after `stop`; it ends after its round.

        Return False when the thread still runs.
        """
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    @property
    def is_over(self) -> bool:
        """Whether the thread has ended."""
        return self._thread.ident is not None and not self._thread.is_alive()

    def status(self) -> DutyStatus:
        """Return the state of the duty: its rounds, its failures, its last and next run."""
        with self._news:
            schedule, now = self._schedule, self._clock.now()
            left = schedule.seconds_left(self._clock.ticks())
            return DutyStatus(
                name=self.duty.name,
                state="running" if self._is_running else "failing" if schedule.failures else "waiting",
                rounds=schedule.rounds,
                last_run=iso_or_none(self._ran_at),
                next_run=None if left is None or self._is_running else iso(now + int(left * SECOND)),
                failures=schedule.failures,
                error=self._error,
                remark=self.duty.remark(),
            )

    # the thread -------------------------------------------------------------------------------------------------------
    def _repeat(self) -> None:
        """Run rounds until the daemon stops or the duty is over. Runs in the duty's thread."""
        try:
            while self._wait_until_due():
                self._run_once()
        except DutyOver as over:
            self._log("duty over", duty=self.duty.name, why=str(over))
        finally:
            self.duty.end()
            self._close()

    def _wait_until_due(self) -> bool:
        """Wait until the next round is due, and record that it begins. Returns False when the daemon stops."""
        with self._news:
            while not self._is_stopping:
                left = self._schedule.seconds_left(self._clock.ticks())
                if left is not None and left <= 0:
                    self._schedule.begin()
                    self._is_running = True
                    return True
                self._news.wait(left)
        return False

    def _run_once(self) -> None:
        """Run one round, log what it did, and record its end or its error. Raises nothing but DutyOver.

        A round that cannot run now (NotNow, TickInProgress) is no error: another one begins soon.
        """
        error: str | None = None
        try:
            for line in self._run_duty():
                self._log("duty", duty=self.duty.name, did=line)
        except DutyOver:
            raise
        except (NotNow, errors.TickInProgress):
            self.wake()
        except Exception as failure:  # noqa: BLE001 - a duty that fails harms no other, and is tried again
            error = f"{type(failure).__name__}: {failure}"
        finally:
            self._note_end(error)

    def _run_duty(self) -> list[str]:
        """Run the duty on an open home. Close the home afterwards unless the duty keeps it open and nothing failed."""
        self._fleet = self._fleet or self._open()
        is_good = False
        try:
            lines = self.duty.run(self._fleet)
            is_good = True
            return lines
        finally:
            if not (is_good and self.duty.keeps_open):
                self._close()

    def _close(self) -> None:
        """Close the home, if it is open."""
        fleet, self._fleet = self._fleet, None
        if fleet is not None:
            fleet.close()

    def _note_end(self, error: str | None) -> None:
        """Record that the round has ended, schedule the next one, and log a new error or a recovery.

        `error` is None when the round has succeeded.
        """
        with self._news:
            self._is_running = False
            self._ran_at = self._clock.now()
            was, self._error = self._error, error
            if error:
                self._schedule.fail(self._clock.ticks())
            else:
                self._schedule.succeed(self._clock.ticks(), self.duty.every)
        if error and error != was:
            self._log("duty failed", duty=self.duty.name, error=error, failures=self._schedule.failures)
        elif was and not error:
            self._log("duty works again", duty=self.duty.name)
