"""The verdicts on whether a worktree may be removed, and the test whether an ignored file is disposable."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from fleet.records import record

if TYPE_CHECKING:
    from collections.abc import Sequence

_LISTED = 5


@record(frozen=True, slots=True, kw_only=True)
class Go:
    """The worktree may be removed: nothing would be lost."""


@record(frozen=True, slots=True, kw_only=True)
class Keep:
    """The worktree must be kept. `committable`: its uncommitted work can be saved as a commit."""

    reason: str
    files: tuple[str, ...] = ()
    committable: bool = False


@record(frozen=True, slots=True, kw_only=True)
class Aside:
    """The worktree may be removed after these ignored files, which may be unique, are moved to the trash."""

    paths: tuple[str, ...]
    files: int  # how many files these are
    size: int  # their size in bytes


Verdict = Go | Keep | Aside


def is_disposable(path: str, patterns: Sequence[str]) -> bool:
    """Return whether one of the patterns matches the path of an ignored file.

    In a pattern, `*` stands for anything. A pattern with a slash inside has to match the path or the first of its
    folders, any other pattern one part of the path. Slashes at the ends of a pattern do not count.
    """
    plain = path.strip("/")
    parts = plain.split("/")
    starts = ["/".join(parts[: number + 1]) for number in range(len(parts))]
    return any(
        fnmatchcase(part, pattern.strip("/"))
        for pattern in patterns
        for part in (starts if "/" in pattern.strip("/") else parts)
    )


def first_names(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are, as text for people."""
    return ", ".join(names[:_LISTED]) + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")
