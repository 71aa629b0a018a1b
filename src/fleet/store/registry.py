"""Which store: chosen by the home's config.toml, loaded on demand."""

from __future__ import annotations

import os

from fleet.errors.store import DriverMissing, StoreGone
from fleet.store.sqlite import FILE, MissingDatabase, OldDatabase, SqliteStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.transaction import Store
    from fleet.world.funnel import Funnel

WAIT = 30.0
# The settings and tables of config.toml that do not concern the store.
ELSEWHERE = frozenset(
    (
        b"keep_operations",
        b"agents",
        b"project_agents",
        b"failed_spawns",
        b"report_grace",
        b"exit_grace",
        b"git_limit",
        b"quota_percent",
        b"trust",
    )
)
TABLES = frozenset((b"[limits]",))


def open_store(home: str, funnel: Funnel, *, wait: float | None = None, had: str = "") -> Store:
    """The store of a fleet home, made or migrated if need be.

    `wait`: for whoever cannot wait as long as the settings say. `had`: the database that the home remembers; then none is made anew.
    """
    url, told = _chosen(home)
    wait = told if wait is None else min(wait, told)
    if url == "sqlite":
        return _open_sqlite(home, funnel, wait, had)
    try:
        from fleet.store.postgres import open_postgres
    except ModuleNotFoundError:
        raise DriverMissing(url="postgresql") from None

    # Whoever moves from SQLite to a server has written its address; the file stays in the home.
    gone = StoreGone(home=home, database=had, store="") if had == "postgresql" else None
    return open_postgres(url, funnel, wait=wait, had=gone)


def _open_sqlite(home: str, funnel: Funnel, wait: float, had: str) -> Store:
    try:
        return SqliteStore(home, funnel, wait=wait)
    except (MissingDatabase, OldDatabase) as error:
        if had and isinstance(error, MissingDatabase):
            raise StoreGone(home=home, database=had, store=f"{home}/{FILE}") from None
        from fleet.store.making import make_or_migrate

        make_or_migrate(home, wait=wait)
    return SqliteStore(home, funnel, wait=wait)


def _chosen(home: str) -> tuple[str, float]:
    """The store's address and how long to wait for it.

    Reading TOML costs an interpreter start and a half, so it is done only when the file has a line that is not known to be about
    something else: the store, or a mistake.
    """
    path = f"{home}/config.toml"
    if not os.path.lexists(path) or _says_nothing_of_the_store(path):
        return "sqlite", WAIT
    from fleet.store.chosen import chosen_store

    return chosen_store(home)


def _says_nothing_of_the_store(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            lines = [line.strip() for line in file.read().splitlines()]
    except OSError:
        return False
    said = [line for line in lines if line and not line.startswith(b"#") and line not in TABLES]
    return all(line.partition(b"=")[0].strip() in ELSEWHERE for line in said)
