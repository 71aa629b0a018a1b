"""Count how often an act asks the store: snapshots (reads) and transactions. Counts, unlike times, are the same on every machine."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

from fleet.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = ("snapshots", "transactions")


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count the snapshots and transactions of all SQLite stores of this process while the block runs."""
    found: Counter[str] = Counter()

    def counting(name: str, method: object) -> object:
        def call(*args: object) -> object:
            found[name] += 1
            return method(*args)  # type: ignore[operator]

        return call

    snapshots, transactions = COLUMNS
    with (
        patch.object(SqliteStore, "read", counting(snapshots, SqliteStore.read)),
        patch.object(SqliteStore, "transact", counting(transactions, SqliteStore.transact)),
    ):
        yield found


def cells_of(found: Counter[str], parts: int = 1) -> tuple[str, ...]:
    """Return the cells of a table's row: each count, divided by a number of equal parts."""
    return tuple(f"{found[name] / parts:g}" for name in COLUMNS)
