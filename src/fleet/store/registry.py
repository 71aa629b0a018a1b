"""Open the store that a home's config.toml names. The module of that store is imported only then."""

from __future__ import annotations

import os

from fleet import errors
from fleet.model.settings.other_settings import ELSEWHERE
from fleet.model.settings.setting_names import HOME_FILE, NeedsTomlParser
from fleet.model.settings.store_address import SQLITE, WAIT, store_setting
from fleet.store.sqlite import MissingDatabase, OldDatabase, SqliteStore
from fleet.world.home import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.transaction import Store
    from fleet.world.funnel import Funnel


def open_store(home: str, funnel: Funnel, *, wait: float | None = None, had: str = "") -> Store:
    """Open the store of a fleet home; create or migrate it if needed.

    `wait` limits the seconds to wait for a lock; None: as long as the settings say. `had` is the kind of database that the
    home had before, '' for none. If that database is missing now, raise StoreGone instead of creating another one;
    only a home that moves from SQLite to a server gets a new one. Raise DriverMissing when psycopg is missing.
    """
    url, told = _store_setting(home)
    wait = told if wait is None else min(wait, told)
    if url == SQLITE:
        return _open_sqlite(home, funnel, wait, had)
    try:
        from fleet.store.postgres import open_postgres
    except ModuleNotFoundError:
        raise errors.DriverMissing(url="postgresql") from None

    # A home may move from SQLite to a server by setting the address; the SQLite file stays in the home.
    gone = errors.StoreGone(home=home, database=had, store="") if had == "postgresql" else None
    return open_postgres(url, funnel, wait=wait, had=gone)


def _open_sqlite(home: str, funnel: Funnel, wait: float, had: str) -> Store:
    """Open the home's SQLite database; create or migrate it if needed.

    `wait` is how many seconds to wait for a lock. `had` is the kind of database that the home had before, '' for none:
    if it had one, raise StoreGone when the file is missing.
    """
    try:
        return SqliteStore(home, funnel, wait=wait)
    except (MissingDatabase, OldDatabase) as error:
        if had and isinstance(error, MissingDatabase):
            raise errors.StoreGone(home=home, database=had, store=f"{home}/{paths.DATABASE}") from None
        from fleet.store.sqlite_setup import make_or_migrate

        make_or_migrate(home, funnel, wait=wait)
    return SqliteStore(home, funnel, wait=wait)


def _store_setting(home: str) -> tuple[str, float]:
    """Return the store's address, or "sqlite", and how many seconds to wait for its lock.

    Parsing TOML takes one and a half interpreter starts. So config.toml is parsed only if a short look at its text does
    not tell both.
    """
    path = f"{home}/{HOME_FILE}"
    known = _known_setting(path) if os.path.lexists(path) else (SQLITE, WAIT)
    if known is not None:
        return known
    from fleet.world.home.settings import settings_of

    values = settings_of(home, None)
    return values["store"].value, float(values["store_wait"].value)


def _known_setting(path: str) -> tuple[str, float] | None:
    """Return the store's address and seconds to wait, from a settings file, without parsing it as TOML.

    None when that is not possible, or the file cannot be read.
    """
    try:
        with open(path, encoding="utf-8") as file:
            return store_setting(file.read(), elsewhere=ELSEWHERE)
    except (OSError, ValueError, NeedsTomlParser):
        return None
