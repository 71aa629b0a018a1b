"""fleet.operations: the log of everything that was committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.api.actor import Part
from fleet.model.text.times import duration
from fleet.verbs.homes import rotate
from fleet.verbs.views import operations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fleet.model.results.home import OperationView, Rotated
    from fleet.verbs.views.operations import Which


class Operations(Part):
    """The operations of a home."""

    __slots__ = ()

    def list(self, which: Which, *, limit: int) -> Iterator[OperationView]:
        """Yield the newest operations that fit the filter, oldest first."""
        yield from self._by.store.read(lambda rows: operations.recent(rows, which, limit))

    def with_archived(self, which: Which, *, limit: int) -> Iterator[OperationView]:
        """Yield the newest operations that fit the filter, archived ones included, oldest first."""
        archived = rotate.archived_operations(self._by.world.files)
        old = [operations.operation_view(row) for row in archived if which.wants(row)]
        yield from [*old, *self.list(which, limit=limit)][-limit:]

    def newest(self) -> int:
        """Return the sequence number of the newest operation."""
        return self._by.store.read(operations.newest)

    def follow(self, which: Which, *, after: int, wanted: Callable[[], bool] = lambda: True) -> Iterator[OperationView]:
        """Yield operations as they are committed, until `wanted` returns False."""
        return operations.follow(self._by.store, self._by.clock, which, after, wanted)

    def rotate(self, *, older_than: str | None = None) -> Rotated:
        """Move old operations into the archive."""
        self._by.may("operations.rotate")
        context = self._by.context
        age = duration(older_than or context.settings()["keep_operations"].value)
        with self._by.gate("rotate-operations"):
            return rotate.rotate(context, before=self._by.clock.now() - age)
