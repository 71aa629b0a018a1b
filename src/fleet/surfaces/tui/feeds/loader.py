"""Loader: the thread that takes snapshots for the TUI. It survives a store that goes away."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.api.views.changes import Changes
    from fleet.model.results.views import Snapshot

# Seconds after which a snapshot is taken although nothing was committed: the screens of agents change too.
_LOOK_ANYWAY = 3.0
# Seconds of rest after a snapshot: the longer it took, the longer the rest, so that the machine is never kept busy.
_SHORTEST_REST, _LONGEST_REST, _REST_FACTOR = 0.3, 2.0, 2.0
# Seconds before a home that could not be read is opened again.
_TRY_AGAIN = 1.0


class Loader(threading.Thread):
    """The thread that takes a snapshot after each change and every few seconds.

    It calls `loaded` with each snapshot, and `lost` with the reason when no snapshot can be taken. `changes_of` makes
    the source that says when something has changed.
    """

    def __init__(
        self,
        home: str,
        *,
        loaded: Callable[[Snapshot], None],
        lost: Callable[[str], None],
        changes_of: Callable[[Fleet], Changes] = lambda fleet: fleet.views.changes(),
    ) -> None:
        super().__init__(name="fleet-loader", daemon=True)
        self._home = home
        self._loaded = loaded
        self._lost = lost
        self._changes_of = changes_of
        self._ended = threading.Event()
        self._hurry = threading.Event()

    def stop(self) -> None:
        """End the thread soon."""
        self._ended.set()
        self._hurry.set()

    def hurry(self) -> None:
        """Take the next snapshot without a rest or a wait before it, because the person has just changed something."""
        self._hurry.set()

    def run(self) -> None:
        """Take snapshots until `stop`. When the home cannot be read, report why and open it again."""
        while not self._ended.is_set():
            try:
                with Fleet.open(self._home, make=False) as fleet:
                    self._follow(fleet)
            except Exception as error:  # noqa: BLE001 - whatever it is, the screen says so and goes on
                self._lost(describe(error))
                self._ended.wait(_TRY_AGAIN)

    def _follow(self, fleet: Fleet) -> None:
        """Take snapshots of one opened `Fleet` until `stop` is called or a read raises, then close its source of changes."""
        changes = self._changes_of(fleet)
        try:
            self._take_snapshots(fleet, changes)
        finally:
            changes.close()

    def _take_snapshots(self, fleet: Fleet, changes: Changes) -> None:
        """Until `stop`: take a snapshot, hand it to the screen, rest, then wait for the next change."""
        while True:
            self._hurry.clear()  # before `_ended` is looked at: the wake by a `stop` after that look is kept
            if self._ended.is_set():
                return
            started = fleet.clock.ticks()
            snapshot = fleet.views.snapshot()
            took = fleet.clock.ticks() - started
            self._loaded(snapshot)
            self._hurry.wait(min(max(_SHORTEST_REST, took * _REST_FACTOR), _LONGEST_REST))
            if not self._hurry.is_set():
                changes.next_change(snapshot.seq, _LOOK_ANYWAY, wanted=lambda: not self._hurry.is_set())


def describe(error: BaseException) -> str:
    """Return an error as a text for people. An error of fleet's own includes the hint what to do about it."""
    if isinstance(error, errors.FleetError):
        return error.spoken
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
