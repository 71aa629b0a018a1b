"""Files of the fleet home: written whole or not at all, synced, private, never through a symlink."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

from fleet.errors import WriteFailed
from fleet.world import folders

if TYPE_CHECKING:
    from fleet.world.funnel import Funnel

_FILE = 0o600


class Files:
    """The files below one directory."""

    def __init__(self, root: str, funnel: Funnel) -> None:
        self.root = root
        self._funnel = funnel

    def publish(self, name: str, content: bytes) -> str:
        """Write a file so that a reader sees the old one or the new one, whole; durable when this returns."""
        path = f"{self.root}/{name}"
        self._funnel.through(f"publish {name}", lambda: _publish(path, content))
        return path

    def read(self, name: str) -> bytes:
        """The content of a file."""
        handle = os.open(f"{self.root}/{name}", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        with os.fdopen(handle, "rb") as file:
            return file.read()

    def unlink(self, name: str) -> None:
        """Remove a file. Safe when it is gone."""
        self._funnel.through(f"unlink {name}", lambda: _unlink(f"{self.root}/{name}"))

    def move(self, name: str, to: str) -> None:
        """Give a file another name, durably. Safe when it was moved already."""
        self._funnel.through(f"move {name}", lambda: _move(f"{self.root}/{name}", f"{self.root}/{to}"))

    def names(self, folder: str) -> list[str]:
        """The names in a folder, sorted; none when it is missing."""
        try:
            return sorted(os.listdir(f"{self.root}/{folder}"))
        except FileNotFoundError:
            return []


def move_into_place(building: str, path: str) -> None:
    """Give a finished file its name; durable when this returns."""
    handle = os.open(building, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    os.rename(building, path)
    _sync(os.path.dirname(path))


def _unlink(path: str) -> None:
    _discard(path)
    if os.path.isdir(os.path.dirname(path)):
        _sync(os.path.dirname(path))


def _move(path: str, to: str) -> None:
    if not os.path.lexists(path):
        return
    folders.make(os.path.dirname(to))
    os.rename(path, to)
    _sync(os.path.dirname(to))


def _publish(path: str, content: bytes) -> None:
    folder = os.path.dirname(path)
    building = f"{path}.{secrets.token_hex(4)}.new"
    try:
        folders.make(folder)
        _write(building, content)
        os.rename(building, path)
        _sync(folder)
    except OSError as error:
        _discard(building)
        raise WriteFailed(path=path, why=str(error.strerror).lower()) from error


def _write(path: str, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, _FILE)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _discard(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
