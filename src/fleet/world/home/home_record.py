"""Read the record of a home, home.json. Every command does, so this file imports next to nothing; home_change writes it."""

from __future__ import annotations

import os

from fleet import errors
from fleet.model.text import jsontext
from fleet.world.home import paths

_MOST = 65_536
_NAMES = ("id", "host", "machine", "path", "database")


class HomeRecord:
    """The record of a home.

    `id` is the home's id, `host` its host id (see `Host.id`), `machine` the id of the machine that used it last, `path`
    its path with symlinks resolved, `database` the kind of its database, "" when not known. `is_copy`: the record was
    read from its copy, because the file was missing or damaged.
    """

    __slots__ = ("database", "host", "id", "is_copy", "machine", "path")

    def __init__(self, *, id: str, host: str, machine: str, path: str, database: str) -> None:  # noqa: A002
        self.id = id
        self.host = host
        self.machine = machine
        self.path = path
        self.database = database
        self.is_copy = False

    def as_document(self) -> dict[str, str]:
        """Return the fields as a dict, for the file and for `fleet home show`."""
        return {name: getattr(self, name) for name in _NAMES}


def read(home: str) -> HomeRecord | None:
    """Return a home's record, from the copy if the file is missing or damaged; None when there is neither.

    Raise HomeUnusable for a damaged file without a usable copy, so that the home is not taken for a new one.
    """
    try:
        found = _read_record(home, paths.RECORD)
    except errors.HomeUnusable:
        copy = _read_copy(home)
        if copy is None:
            raise
        return copy
    return found or _read_copy(home)


def _read_copy(home: str) -> HomeRecord | None:
    """Return the copy of a home's record; None when it is missing or damaged."""
    try:
        found = _read_record(home, paths.RECORD_COPY)
    except errors.HomeUnusable:
        return None
    if found is not None:
        found.is_copy = True
    return found


def _read_record(home: str, name: str) -> HomeRecord | None:
    """Return the record in a file; None when the file is missing; raise HomeUnusable when it is damaged."""
    path = f"{home}/{name}"
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise errors.HomeUnusable(path=home, why=f"{name}: {error.strerror}".lower()) from None
    try:
        return _parse_record(os.read(handle, _MOST).decode("utf-8").strip())
    except (ValueError, TypeError, StopIteration, OSError):
        raise errors.HomeUnusable(path=home, why=f"{path} cannot be understood; put it back from a backup") from None
    finally:
        os.close(handle)


def _parse_record(text: str) -> HomeRecord:
    """Return the record in a JSON text.

    Raise TypeError when a field is missing or the text is no object, ValueError or StopIteration when it is no JSON.
    """
    found = jsontext.loads(text)
    if not isinstance(found, dict):
        raise TypeError
    named = {name: value for name, value in found.items() if name in _NAMES and isinstance(value, str)}
    return HomeRecord(**named)  # a missing field raises TypeError
