"""Where a screen learns that something changed: polling, cheap and behind a small interface.

A daemon that pushes changes takes the place of `PolledChanges` by the same method.
"""

from __future__ import annotations

from fleet.verbs.views import operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from fleet.store.transaction import Store
    from fleet.world.clock import Clock

    class Changes(Protocol):
        """A source of numbered changes."""

        def next_change(self, after_seq: int, timeout: float) -> int | None:
            """Wait for an operation after this one. Returns the newest sequence number; None when the time is over."""

        def close(self) -> None:
            """Stop looking for changes."""


_LOOK_AGAIN = 0.25


class PolledChanges:
    """Looks at the newest sequence number of the store, a few times a second."""

    def __init__(self, store: Store, clock: Clock, *, every: float = _LOOK_AGAIN) -> None:
        self._store = store
        self._clock = clock
        self._every = every

    def next_change(self, after_seq: int, timeout: float) -> int | None:
        """Return the newest sequence number once it is beyond this one; None when the time is over."""
        until = self._clock.ticks() + timeout
        while True:
            seq = self._store.read(operations.newest)
            if seq != after_seq:  # smaller when a backup was restored
                return seq
            left = until - self._clock.ticks()
            if left <= 0:
                return None
            self._clock.wait(min(self._every, left))

    def close(self) -> None:
        """Do nothing: the store belongs to somebody else."""
