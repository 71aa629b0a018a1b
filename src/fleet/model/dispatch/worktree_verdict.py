"""May a task's worktree go? The answer, and which ignored files are certainly reproducible."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LISTED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Go:
    """Nothing in the worktree would be lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """The worktree stays. Work that can be committed to a ref of its own is committable."""

    reason: str
    files: tuple[str, ...] = ()
    committable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """The worktree may go once these ignored files and folders, which may not be reproducible, were put aside."""

    paths: tuple[str, ...]
    files: int
    size: int


Verdict = Go | Keep | Aside


def is_disposable(path: str, patterns: Sequence[str]) -> bool:
    """Whether a setting names an ignored file or folder: a pattern with a slash its path, any other a part of the path."""
    plain = path.strip("/")
    parts = plain.split("/")
    starts = ["/".join(parts[: number + 1]) for number in range(len(parts))]
    return any(
        fnmatchcase(each, pattern.strip("/"))
        for pattern in patterns
        for each in (starts if "/" in pattern.strip("/") else parts)
    )


def first_names(names: Sequence[str]) -> str:
    """A few names, for people."""
    return ", ".join(names[:_LISTED]) + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")
