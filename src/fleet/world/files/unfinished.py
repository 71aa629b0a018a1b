"""Files that are being written beside the one they will replace.

Whoever writes one holds a lock on it, until it has its name or its writer is dead. So a file of this kind that is not locked is
one that nobody will finish.
"""

from __future__ import annotations

import os
import secrets

from fleet.world.files.locks import FileLock, is_same_file, lock_open_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_BYTES = 4
_END = ".new"


def begin(path: str, *, mode: int = 0o600) -> tuple[str, int]:
    """A new file beside a path, and its handle, which holds the lock."""
    while True:
        building = f"{path}.{secrets.token_hex(_BYTES)}{_END}"
        handle = os.open(building, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        _lock(handle)
        if is_same_file(building, handle):  # else somebody took it for abandoned before it was locked
            return building, handle
        os.close(handle)


def is_building(name: str) -> bool:
    """Whether a file's name is one that `begin` gives."""
    stem, _, mark = name.removesuffix(_END).rpartition(".")
    return name.endswith(_END) and bool(stem) and len(mark) == 2 * _BYTES and not mark.strip("0123456789abcdef")


def discard_abandoned(path: str) -> bool:
    """Remove a file that was being written, if nobody writes it any more. False: somebody does, or it cannot be told."""
    lock = FileLock(path, create=False)
    try:
        lock.take(0)
        os.unlink(path)
    except OSError:
        return False
    finally:
        lock.give()
    return True


def abandoned(paths: Iterable[str]) -> list[str]:
    """Those of the paths that were being written and that nobody writes any more. None of them is touched."""
    return [path for path in paths if is_building(os.path.basename(path)) and _is_free(path)]


def _is_free(path: str) -> bool:
    return FileLock(path, shared=True).is_free() and os.path.lexists(path)


def _lock(handle: int) -> None:
    """Where the file system has no locks, nothing is ever taken for abandoned either."""
    try:
        lock_open_file(handle)
    except OSError:
        return
