"""Wait for changes by polling the store, for screens that draw anew after each change.

`PushedChanges` has the same methods and takes the place of `PolledChanges` while a daemon runs.
"""

from __future__ import annotations

from fleet.verbs.views import operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from fleet.store.transaction import Store
    from fleet.world.clock import Clock

    class Changes(Protocol):
        """A source that says when operations were committed."""

        def next_change(
            self, after_seq: int, timeout: float, *, wanted: Callable[[], bool] = lambda: True
        ) -> int | None:
            """Wait until the number of the newest operation differs from `after_seq`, and return that number.

            Returns None after `timeout` seconds at the latest, and soon after `wanted()` has become false.
            """

        def close(self) -> None:
            """Stop looking for changes."""


_LOOK_AGAIN = 0.25


class PolledChanges:
    """Reads the newest sequence number from the store a few times a second."""

    def __init__(self, store: Store, clock: Clock, *, every: float = _LOOK_AGAIN) -> None:
        self._store = store
        self._clock = clock
        self._every = every

    def next_change(self, after_seq: int, timeout: float, *, wanted: Callable[[], bool] = lambda: True) -> int | None:
        """Return the number of the newest operation once it differs from `after_seq`.

        Returns None after `timeout` seconds, or as soon as `wanted()` is false.
        """
        until = self._clock.ticks() + timeout
        while True:
            seq = self._store.read(operations.newest)
            if seq != after_seq:  # smaller when a backup was restored
                return seq
            left = until - self._clock.ticks()
            if left <= 0 or not wanted():
                return None
            self._clock.wait(min(self._every, left))

    def close(self) -> None:
        """Do nothing: the caller closes the store."""
