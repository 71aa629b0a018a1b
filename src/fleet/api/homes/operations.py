"""fleet.operations: the log of everything that was committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.api.actor import Part
from fleet.api.remote.following import PushedOperations
from fleet.model.text.times import duration
from fleet.verbs.homes import rotate
from fleet.verbs.sweep import clock_doubt
from fleet.verbs.views import operations
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fleet.model.results.home import OperationView, Rotated
    from fleet.verbs.views.operations import OperationFilter

# Seconds to poll the store before the daemon is tried again.
_POLLED = 5.0


class Operations(Part):
    """The operations of a home."""

    __slots__ = ()

    def list(self, which: OperationFilter, *, limit: int) -> Iterator[OperationView]:
        """Yield the newest operations that match the filter `which`, at most `limit`, oldest of them first."""
        yield from self._by.store.read(lambda rows: operations.recent(rows, which, limit))

    def with_archived(self, which: OperationFilter, *, limit: int) -> Iterator[OperationView]:
        """Yield the newest operations that match the filter `which`, archived ones too, at most `limit`, oldest first."""
        archived = rotate.archived_operations(self._by.world.files)
        old = [operations.operation_view(row) for row in archived if which.fits_row(row)]
        found = [*old, *self.list(which, limit=limit)]
        yield from found[max(len(found) - limit, 0) :]

    def newest(self) -> int:
        """Return the sequence number of the newest operation; 0 when there is none."""
        return self._by.store.read(operations.newest)

    def follow(
        self, which: OperationFilter, *, after: int, wanted: Callable[[], bool] = lambda: True
    ) -> Iterator[OperationView]:
        """Yield the operations after number `after` that match the filter `which`, until `wanted` returns False.

        First those that were committed before, then each as it is committed. They come from the daemon while one
        answers, and from polling the store otherwise.
        """
        pushed, clock = PushedOperations(self._by.home, wanted, self.newest), self._by.clock
        while self._by.door is not None and wanted():
            for told in pushed.after(after):
                after = told if isinstance(told, int) else told.seq
                if not isinstance(told, int) and which.fits_view(told):
                    yield told
            until = clock.ticks() + _POLLED
            for polled in operations.follow(
                self._by.store,
                clock,
                which,
                after,
                lambda: wanted() and clock.ticks() < until,  # noqa: B023
            ):
                after = polled.seq
                yield polled
        yield from operations.follow(self._by.store, clock, which, after, wanted)

    def last_upkeep(self) -> int | None:
        """Return the time, in milliseconds, when the daemon last removed old operations and journals.

        None when none is recorded.
        """
        try:
            return int(self._by.files_of_home(paths.UPKEEP))
        except (OSError, ValueError):
            return None

    def note_upkeep(self, at: int) -> None:
        """Record the time at which the daemon removed old operations and journals. `at` is in milliseconds."""
        self._by.may("operations.note_upkeep")
        self._by.files.publish(paths.UPKEEP, str(at).encode())

    def why_clock_doubted(self) -> str:
        """Return why the clock is doubted, so that nothing may be removed by its age; "" when it is trusted.

        Records the current time for the next call.
        """
        self._by.may("operations.why_clock_doubted")
        return clock_doubt.why_clock_doubted(self._by.context)

    def rotate(self, *, older_than: str | None = None) -> Rotated:
        """Move the operations that are older than `older_than`, or than the setting keep_operations, into the archive."""
        self._by.may("operations.rotate")
        context = self._by.context
        age = duration(older_than or context.settings().keep_operations)
        with self._by.gate("rotate-operations"):
            return rotate.rotate(context, before=self._by.clock.now() - age)
