"""Parse a diff in git's format into files and numbered lines, for reviews."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    LineKind = Literal["head", "hunk", "same", "added", "removed"]

# The heading of a hunk: where it begins in the old and in the new file, and how many lines of each follow (none said: one).
_HUNK = re.compile(
    r"@@ -(?P<old>[0-9]{1,18})(,(?P<olds>[0-9]{1,18}))? \+(?P<new>[0-9]{1,18})(,(?P<news>[0-9]{1,18}))? @@"
)
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}


class DiffLine:
    """One line of a diff: its kind, its text, and its line numbers in the old and in the new file (None: not in that file)."""

    __slots__ = ("kind", "new", "old", "text")

    def __init__(self, kind: LineKind, text: str, old: int | None = None, new: int | None = None) -> None:
        self.kind = kind
        self.text = text
        self.old = old
        self.new = new


class FileDiff:
    """The diff of one file: its path and its lines."""

    __slots__ = ("lines", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines: list[DiffLine] = []

    @property
    def added(self) -> int:
        """How many lines the diff adds to this file."""
        return sum(line.kind == "added" for line in self.lines)

    @property
    def removed(self) -> int:
        """How many lines the diff removes from this file."""
        return sum(line.kind == "removed" for line in self.lines)

    def line_for(self, number: int) -> int | None:
        """Return the line number in the new file that belongs to the line with the index `number` in `lines`.

        A removed line or a heading is not in the new file: then return the number of the next line of this diff that is
        in the new file, else of the last such line before. None when no line of this diff is in the new file.
        """
        after = (line.new for line in self.lines[number:] if line.new is not None)
        before = (line.new for line in reversed(self.lines[:number]) if line.new is not None)
        return next(after, None) or next(before, None)


def lines_of_diff(text: str) -> Iterator[tuple[LineKind, str]]:
    """Yield each line of a diff, unchanged, with its kind; "head" also for text that belongs to no diff.

    The headings of hunks say how many lines follow. So a removed line that begins with `-- ` is not taken for the name of
    a file, also in a diff that has no line `diff --git`.
    """
    left = [0, 0]
    for line in text.removesuffix("\n").split("\n") if text else ():
        if left[0] > 0 or left[1] > 0:
            kind = _kind_in_hunk(line)
            left = [left[0] - (kind in {"same", "removed"}), left[1] - (kind in {"same", "added"})]
        elif (hunk := _HUNK.match(line)) is not None:
            kind, left = "hunk", [int(hunk[side] or 1) for side in ("olds", "news")]
        else:
            kind = "head"
        yield kind, line


def _kind_in_hunk(line: str) -> LineKind:
    """Return the kind of a line that belongs to a hunk; "head" for git's remark that no newline ends the file."""
    kinds: dict[str, LineKind] = {"+": "added", "-": "removed", "\\": "head"}
    return kinds.get(line[:1], "same")


def parse_diff(text: str) -> list[FileDiff]:
    """Return the files of a diff in git's format, in the order of the diff."""
    files: list[FileDiff] = []
    numbers = [0, 0]
    for kind, line in lines_of_diff(text):
        if kind == "head" and line.startswith("diff --git "):
            files.append(FileDiff(_path_in(line)))
        if not files:
            continue
        if kind in {"head", "hunk"}:
            files[-1].lines.append(DiffLine(kind, line))
        else:
            files[-1].lines.append(_numbered(kind, line[1:], numbers))
        if kind == "hunk":
            numbers = _hunk_start(line)
        elif kind == "head" and line.startswith(("+++ b/", '+++ "b/')):
            files[-1].path = _unquoted(line[4:].rstrip("\t")).removeprefix("b/")
    return files


def _numbered(kind: LineKind, text: str, numbers: list[int]) -> DiffLine:
    """Return one line of a hunk with its line numbers.

    `numbers` are the next line numbers in the old and new file; they are changed in place.
    """
    old, new = numbers
    numbers[0] += kind != "added"
    numbers[1] += kind != "removed"
    return DiffLine(kind, text, None if kind == "added" else old, None if kind == "removed" else new)


def _hunk_start(line: str) -> list[int]:
    """Return the first line numbers of a hunk, in the old and in the new file. `line` is the heading of the hunk."""
    found = _HUNK.match(line)
    return [int(found[side]) for side in ("old", "new")] if found else [0, 0]


def _unquoted(name: str) -> str:
    """Return a file name of a diff without git's quotes.

    git quotes a name with a quote, a backslash or a control character like a C string; any other name is returned as it is.
    """
    if not (name.startswith('"') and name.endswith('"')):
        return name
    return _ESCAPE.sub(_escaped_byte, name[1:-1].encode()).decode("utf-8", "replace")


def _escaped_byte(found: re.Match[bytes]) -> bytes:
    """Return the byte for which git wrote a backslash and a letter, or a backslash and three octal digits."""
    code = found[1]
    return bytes([int(code, 8)]) if code.isdigit() else _ESCAPED.get(code, code)


def _path_in(line: str) -> str:
    """Return the file path in a line `diff --git a/PATH b/PATH`."""
    if line.endswith('"'):
        return _unquoted(line[line.rindex(' "') + 1 :]).removeprefix("b/")
    names = line.removeprefix("diff --git a/")
    half = len(names) // 2
    return (
        names[:half].rstrip()
        if names[half:].lstrip().removeprefix("b/") == names[:half].rstrip()
        else names.partition(" b/")[2]
    )


def side_by_side(file: FileDiff) -> Iterator[tuple[tuple[int, ...], DiffLine | None, DiffLine | None]]:
    """Yield the rows of a side-by-side view: each removed line beside the added line that replaces it.

    A row is (indexes of its lines in `file.lines`, old line, new line). The old or the new line is None where there is
    no such line beside the other one. Lines that are not changed, and headings, are in both.
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
            yield (number,), line, line
    yield from _pairs_of_lines(removed, added)


def _pairs_of_lines(
    removed: list[tuple[int, DiffLine]], added: list[tuple[int, DiffLine]]
) -> Iterator[tuple[tuple[int, ...], DiffLine | None, DiffLine | None]]:
    """Yield the rows of a side-by-side view for removed and added lines; None stands where one side has fewer lines."""
    for place in range(max(len(removed), len(added))):
        old = removed[place] if place < len(removed) else None
        new = added[place] if place < len(added) else None
        places = tuple(each[0] for each in (old, new) if each is not None)
        yield places, old[1] if old else None, new[1] if new else None
