"""Open the store that a home's config.toml names. The module of that store is imported only then."""

from __future__ import annotations

import os

from fleet import errors
from fleet.store.sqlite import MissingDatabase, OldDatabase, SqliteStore
from fleet.world.home import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.transaction import Store
    from fleet.world.funnel import Funnel

WAIT = 30.0
# The settings of config.toml that do not concern the store; checks/hot.py compares them with the table of settings.
ELSEWHERE = frozenset(
    (
        b"daemon",
        b"agents.door",
        b"agents.sandbox",
        b"agents.sandbox_read",
        b"agents.sandbox_write",
        b"daemon_sweep",
        b"environment.file",
        b"environment.pass",
        b"exit_grace",
        b"git_limit",
        b"handoff.ask_percent",
        b"handoff.ask_tokens",
        b"handoff.force_percent",
        b"handoff.force_tokens",
        b"handoff.without_progress",
        b"keep_operations",
        b"limits.agents",
        b"limits.cost_day",
        b"limits.cost_project",
        b"limits.cost_task",
        b"limits.failed_spawns",
        b"limits.project_agents",
        b"limits.quota_percent",
        b"notify.channels",
        b"notify.command",
        b"notify.most",
        b"notify.on",
        b"notify.quiet",
        b"notify.urls",
        b"ports.block",
        b"ports.first",
        b"remote_control",
        b"screen.theme",
        b"report_grace",
        b"resume_on_boot",
        b"silent_after",
        b"spawn_cooldown",
        b"tick_every",
        b"trash.keep",
        b"trash.limit",
        b"trust",
        b"wake_every",
    )
)
# A table with keys of its own: the keys of the screen.
_KEYS = b"keys"
_TABLES = frozenset((_KEYS, *(name.partition(b".")[0] for name in ELSEWHERE if b"." in name)))
_QUOTES = (b'"', b"'")


def open_store(home: str, funnel: Funnel, *, wait: float | None = None, had: str = "") -> Store:
    """Open the store of a fleet home; create or migrate it if needed.

    `wait` shortens the waiting time of the settings. `had` is the kind of database that the home had before: raise
    StoreGone when it is missing now.
    """
    url, told = _store_setting(home)
    wait = told if wait is None else min(wait, told)
    if url == "sqlite":
        return _open_sqlite(home, funnel, wait, had)
    try:
        from fleet.store.postgres import open_postgres
    except ModuleNotFoundError:
        raise errors.DriverMissing(url="postgresql") from None

    # A home may move from SQLite to a server by setting the address; the SQLite file stays in the home.
    gone = errors.StoreGone(home=home, database=had, store="") if had == "postgresql" else None
    return open_postgres(url, funnel, wait=wait, had=gone)


def _open_sqlite(home: str, funnel: Funnel, wait: float, had: str) -> Store:
    """Open the home's SQLite database; create or migrate it if needed. Raise StoreGone when the home had one that is missing now."""
    try:
        return SqliteStore(home, funnel, wait=wait)
    except (MissingDatabase, OldDatabase) as error:
        if had and isinstance(error, MissingDatabase):
            raise errors.StoreGone(home=home, database=had, store=f"{home}/{paths.DATABASE}") from None
        from fleet.store.sqlite_setup import make_or_migrate

        make_or_migrate(home, funnel, wait=wait)
    return SqliteStore(home, funnel, wait=wait)


def _store_setting(home: str) -> tuple[str, float]:
    """Return the store's address, and how many seconds to wait for its lock.

    Parsing TOML takes one and a half interpreter starts. So config.toml is parsed only if it may contain anything but
    settings that are known not to concern the store.
    """
    path = f"{home}/config.toml"
    if not os.path.lexists(path) or _is_without_store(path):
        return "sqlite", WAIT
    from fleet.world.home.settings import settings_of

    values = settings_of(home, None)
    return values["store"].value, float(values["store_wait"].value)


def _is_without_store(path: str) -> bool:
    """Return whether a settings file has only blank lines, comments, and tables and settings that do not concern the store.

    In TOML each key and each table's head begins a line, so no setting is overlooked. A line inside a long string or
    list may look like a setting; then the answer may be False, which is safe.
    """
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return False
    table = b""
    for line in lines:
        text = line.strip()
        if text.startswith(b"["):
            table = _setting_key(text.partition(b"#")[0].strip()[1:-1])
            if table not in _TABLES:
                return False
        elif text and not text.startswith(b"#") and not _sets_known(text, table):
            return False
    return True


def _sets_known(line: bytes, table: bytes) -> bool:
    """Return whether a line `key = value` sets settings that do not concern the store."""
    key, equals, value = line.partition(b"=")
    name = b".".join(filter(None, (table, _setting_key(key))))
    inner = value.partition(b"#")[0].strip()
    if name.startswith(_KEYS + b"."):
        return bool(equals)
    if name not in _TABLES:
        return name in ELSEWHERE and bool(equals) and not inner.startswith(b"{")
    one = inner[:1] + inner[-1:] == b"{}" and b"}" not in inner[:-1]
    return one and all(_sets_known(part, name) for part in _inline_settings(inner[1:-1]) if part.strip())


def _inline_settings(inner: bytes) -> list[bytes]:
    """Split the content of an inline table at its commas, except those inside a list."""
    found: list[bytes] = []
    for part in inner.split(b","):
        if found and found[-1].count(b"[") > found[-1].count(b"]"):
            found[-1] += b"," + part
        else:
            found.append(part)
    return found


def _setting_key(text: bytes) -> bytes:
    """Return a dotted key without blanks and quotes around its parts."""
    return b".".join(_unquoted_key(part.strip()) for part in text.split(b"."))


def _unquoted_key(part: bytes) -> bytes:
    return part[1:-1] if part[:1] in _QUOTES and part[-1:] == part[:1] else part
