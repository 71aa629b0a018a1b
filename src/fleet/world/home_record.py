"""What a home remembers of itself, in home.json. Read by every command, so with next to no imports; home_change writes it."""

from __future__ import annotations

import os

from fleet.errors import HomeUnusable
from fleet.model import jsontext

FILE = "home.json"
_MOST = 65_536


class HomeRecord:
    """One home: its id, the host id it keeps, the machine it was last seen on, its real path, and which database it has."""

    __slots__ = ("database", "host", "id", "machine", "path")

    def __init__(self, *, id: str, host: str, machine: str, path: str, database: str) -> None:  # noqa: A002
        self.id = id
        self.host = host
        self.machine = machine
        self.path = path
        self.database = database

    def as_document(self) -> dict[str, str]:
        """As the file and `fleet home show` have it."""
        return {name: getattr(self, name) for name in ("id", "host", "machine", "path", "database")}


def read(home: str) -> HomeRecord | None:
    """What the home remembers; None when it has no such file. A file that cannot be understood is an error, never a new home."""
    path = f"{home}/{FILE}"
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise HomeUnusable(path=home, why=f"{FILE}: {error.strerror}".lower()) from None
    try:
        return _understood(os.read(handle, _MOST).decode("utf-8").strip())
    except (ValueError, TypeError, StopIteration):
        raise HomeUnusable(path=home, why=f"{path} cannot be understood; put it back from a backup") from None
    finally:
        os.close(handle)


def _understood(text: str) -> HomeRecord:
    found = jsontext.loads(text)
    if not isinstance(found, dict):
        raise TypeError
    named = {name: value for name, value in found.items() if name in HomeRecord.__slots__ and isinstance(value, str)}
    return HomeRecord(**named)  # one that is missing is a TypeError
