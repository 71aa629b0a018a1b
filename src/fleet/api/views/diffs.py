"""A diff in git's format, taken apart: files, and lines with their numbers. For reviews in a terminal and on a page."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    LineKind = Literal["head", "hunk", "same", "added", "removed"]


class DiffLine:
    """One line: its kind, its text, and its numbers in the old and in the new file."""

    __slots__ = ("kind", "new", "old", "text")

    def __init__(self, kind: LineKind, text: str, old: int | None = None, new: int | None = None) -> None:
        self.kind = kind
        self.text = text
        self.old = old
        self.new = new


class FileDiff:
    """What changes in one file."""

    __slots__ = ("lines", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines: list[DiffLine] = []

    @property
    def added(self) -> int:
        """How many lines are new."""
        return sum(line.kind == "added" for line in self.lines)

    @property
    def removed(self) -> int:
        """How many lines are gone."""
        return sum(line.kind == "removed" for line in self.lines)

    def line_for(self, number: int) -> int | None:
        """Return the line of the new file that a comment on this line of the diff is about; None when there is none."""
        after = (line.new for line in self.lines[number:] if line.new is not None)
        before = (line.new for line in reversed(self.lines[:number]) if line.new is not None)
        return next(after, None) or next(before, None)


def parse_diff(text: str) -> list[FileDiff]:
    """Return the files of a diff, in its order."""
    files: list[FileDiff] = []
    numbers = [0, 0]
    left = [0, 0]
    for line in text.removesuffix("\n").split("\n") if text else ():
        inside = left[0] > 0 or left[1] > 0
        if line.startswith("diff --git ") and not inside:
            files.append(FileDiff(_path_in(line)))
        if not files:
            continue
        if line.startswith("@@ ") and not inside:
            numbers, left = _hunk_start(line)
            files[-1].lines.append(DiffLine("hunk", line))
        elif inside:
            files[-1].lines.append(_hunk_line(line, numbers, left))
        else:
            files[-1].lines.append(DiffLine("head", line))
            if line.startswith("+++ b/"):
                files[-1].path = line[6:].rstrip("\t")
    return files


def _hunk_line(line: str, numbers: list[int], left: list[int]) -> DiffLine:
    """Return one line of a hunk with its numbers, and advance the numbers."""
    sign, text = line[:1], line[1:]
    if sign == "\\":  # no newline at the end of the file
        return DiffLine("head", line)
    old, new = numbers
    kind: LineKind = "added" if sign == "+" else "removed" if sign == "-" else "same"
    for side in (0, 1):
        if kind != ("added", "removed")[side]:
            numbers[side] += 1
            left[side] -= 1
    return DiffLine(kind, text, None if kind == "added" else old, None if kind == "removed" else new)


def _hunk_start(line: str) -> tuple[list[int], list[int]]:
    """Return where a hunk starts in the old and the new file, and how many lines of each it has."""
    _, old, new, *_ = line.split(" ")
    parts = [side[1:].split(",") for side in (old, new)]
    return [int(part[0]) for part in parts], [int(part[1]) if len(part) > 1 else 1 for part in parts]


def _path_in(line: str) -> str:
    """Return the path of a file in its first line; git writes it twice."""
    names = line.removeprefix("diff --git a/")
    half = len(names) // 2
    return (
        names[:half].rstrip()
        if names[half:].lstrip().removeprefix("b/") == names[:half].rstrip()
        else names.partition(" b/")[2]
    )


def side_by_side(file: FileDiff) -> Iterator[tuple[int, DiffLine | None, DiffLine | None]]:
    """Yield rows with the old line and the new one, removed lines beside the added ones that stand in their place.

    The number is the place of the row's last line in the file's lines.
    """
    removed: list[tuple[int, DiffLine]] = []
    added: list[tuple[int, DiffLine]] = []
    for number, line in enumerate(file.lines):
        if line.kind == "removed":
            if added:
                yield from _pairs_of_lines(removed, added)
                removed, added = [], []
            removed.append((number, line))
        elif line.kind == "added":
            added.append((number, line))
        else:
            yield from _pairs_of_lines(removed, added)
            removed, added = [], []
            yield number, line, line
    yield from _pairs_of_lines(removed, added)


def _pairs_of_lines(
    removed: list[tuple[int, DiffLine]], added: list[tuple[int, DiffLine]]
) -> Iterator[tuple[int, DiffLine | None, DiffLine | None]]:
    for place in range(max(len(removed), len(added))):
        old = removed[place] if place < len(removed) else None
        new = added[place] if place < len(added) else None
        last = new or old
        if last is not None:
            yield last[0], old[1] if old else None, new[1] if new else None
