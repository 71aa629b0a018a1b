"""Which store: chosen by the home's config.toml, loaded on demand."""

from __future__ import annotations

import os

from fleet.store.sqlite import MissingDatabase, OldDatabase, SqliteStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.transaction import Store
    from fleet.world.funnel import Funnel

WAIT = 30.0


def open_store(home: str, funnel: Funnel) -> Store:
    """The store of a fleet home, made or migrated if need be."""
    url, wait = _chosen(home)
    if url == "sqlite":
        return _open_sqlite(home, funnel, wait)
    from fleet.store.postgres import open_postgres

    return open_postgres(url, funnel, wait=wait)


def _open_sqlite(home: str, funnel: Funnel, wait: float) -> Store:
    try:
        return SqliteStore(home, funnel, wait=wait)
    except (MissingDatabase, OldDatabase):
        from fleet.store.making import make_or_migrate

        make_or_migrate(home, wait=wait)
    return SqliteStore(home, funnel, wait=wait)


def _chosen(home: str) -> tuple[str, float]:
    """The store's address and how long to wait for it.

    Reading TOML costs an interpreter start and a half, so it is done only when the file speaks of the store at all.
    """
    path = f"{home}/config.toml"
    if not os.path.exists(path):
        return "sqlite", WAIT
    with open(path, "rb") as file:
        if b"store" not in file.read():
            return "sqlite", WAIT
    from fleet.store.chosen import chosen_store

    return chosen_store(home)
