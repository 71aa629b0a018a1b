"""Find the ignored files of a worktree that cannot be reproduced, and compare files by their content."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    # Whether the ignored file or folder at a path in the worktree can be reproduced.
    Test = Callable[[str], bool]

_CHUNK = 1 << 20


class IrreproducibleFiles:
    """The ignored files of a worktree that cannot be reproduced: their paths in it, their number and size in bytes.

    A folder is listed as a whole when nothing in it can be reproduced. `top` is the path of the worktree.
    """

    def __init__(self, top: str, is_reproducible: Test) -> None:
        self.paths: list[str] = []
        self.files = 0
        self.size = 0
        self._top = top
        self._is_reproducible = is_reproducible

    def add(self, names: Iterable[str]) -> IrreproducibleFiles:
        """Add those of the given ignored files and folders that cannot be reproduced, and return this object.

        Raise OSError when one cannot be read.
        """
        for name in names:
            paths, _spared = self._look(name.rstrip("/"))
            self.paths += paths
        return self

    def _look(self, name: str, *, whole: bool = False) -> tuple[list[str], bool]:
        """Return the paths at or below an ignored path that cannot be reproduced, and whether anything there can be reproduced.

        `whole`: the path is inside a nested repository, in which everything counts as not reproducible.
        """
        found = os.lstat(f"{self._top}/{name}")
        if not whole and self._is_reproducible(name):
            return [], True
        if not stat.S_ISDIR(found.st_mode):
            return self._count(name, found)
        whole = whole or os.path.lexists(f"{self._top}/{name}/.git")
        parts = [self._look(f"{name}/{each}", whole=whole) for each in sorted(os.listdir(f"{self._top}/{name}"))]
        left = [path for paths, _spared in parts for path in paths]
        spared = any(each for _paths, each in parts)
        return (left, True) if spared else ([name] if left else [], False)

    def _count(self, name: str, found: os.stat_result) -> tuple[list[str], bool]:
        """Count a file that cannot be reproduced, and return for it what `_look` returns.

        A socket, pipe or device has no content that could be lost: it is not counted, and treated like a reproducible file.
        """
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
            return [], True
        self.files += 1
        self.size += found.st_size
        return [name], False


def digest(path: str) -> str:
    """Return a text that identifies a file's content: its size and hash, or the hash of a symlink's target.

    "" for anything else, and for a file that cannot be read.
    """
    import hashlib  # noqa: PLC0415 - most worktrees have no such file

    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return f"link {hashlib.sha256(os.fsencode(os.readlink(path))).hexdigest()}"
        if not stat.S_ISREG(mode):
            return ""
        made = hashlib.sha256()
        with open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                made.update(chunk)
            return f"{file.tell()} {made.hexdigest()}"
    except OSError:
        return ""
