"""Temporary files: a new file is written beside the file that it will replace.

Its writer holds a lock on the temporary file until it is renamed or the writer dies. So a temporary file that is not
locked will never be finished.
"""

from __future__ import annotations

import os

from fleet.world.files.locks import FileLock, is_same_file, lock_open_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_BYTES = 4
_END = ".new"


def begin(path: str, *, mode: int = 0o600) -> tuple[str, int]:
    """Create and lock a temporary file beside a path; return its path and its descriptor, which holds the lock."""
    while True:
        temporary = f"{path}.{os.urandom(_BYTES).hex()}{_END}"
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        _lock_temporary(handle)
        if is_same_file(temporary, handle):  # else another process discarded the file before it was locked
            return temporary, handle
        os.close(handle)


def is_temporary(name: str) -> bool:
    """Return whether a file name is one that `begin` gives."""
    stem, _, mark = name.removesuffix(_END).rpartition(".")
    return name.endswith(_END) and bool(stem) and len(mark) == 2 * _BYTES and not mark.strip("0123456789abcdef")


def discard_abandoned(path: str) -> bool:
    """Remove a temporary file if its writer is dead; return whether it was removed.

    It stays when its writer may live, or when it is gone already or cannot be removed.
    """
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
    """Return those paths that are temporary files whose writer is dead."""
    return [path for path in paths if is_temporary(os.path.basename(path)) and _is_unlocked(path)]


def _is_unlocked(path: str) -> bool:
    """Return whether a file exists and nobody holds its lock."""
    return FileLock(path, shared=True).is_free() and os.path.lexists(path)


def _lock_temporary(handle: int) -> None:
    """Lock a temporary file. Do nothing where the file system has no locks: no file counts as abandoned there."""
    try:
        lock_open_file(handle)
    except OSError:
        return
