"""The lines of the review page: a diff in one column or side by side, with each comment below its line."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.cells import set_cell_size
from rich.text import Text

from fleet.api.views.diffs import side_by_side
from fleet.model.text import escapes
from fleet.surfaces.tui.feeds.tabs import diff_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.api.views.diffs import DiffLine, FileDiff
    from fleet.surfaces.tui.look import ScreenLook

    Comments = dict["Spot", str]

_SIGNS = {"added": "+", "removed": "-", "same": " "}
# Columns for the number of a line.
_NUMBER = 5


class Spot(NamedTuple):
    """The line of a diff that a comment is about.

    `line` is its number in the new file; of a removed line (`is_removed`), the number in the old file.
    """

    path: str
    line: int
    is_removed: bool

    @property
    def title(self) -> str:
        """The title of the dialog that asks for a comment on this line."""
        return f"Comment on {escapes.line(self.path)}:{self.line}{' (removed)' if self.is_removed else ''}"


class ReviewLine(NamedTuple):
    """One line of the review page.

    `file` is the index of the file that the line belongs to, `place` the index of the line in that file's diff. `spot`
    is what a comment on the line is about, None when no comment is possible.
    """

    text: Text
    file: int
    place: int = 0
    spot: Spot | None = None


def review_lines(
    files: list[FileDiff], comments: Comments, look: ScreenLook, *, width: int, split: bool
) -> list[ReviewLine]:
    """Return the lines of the review page, file by file, with the comments. With `split`, old and new side by side."""
    lines: list[ReviewLine] = []
    for number, file in enumerate(files):
        lines.append(ReviewLine(Text(escapes.line(file.path), style=look.style("blue", bold=True)), number))
        rows = _split_rows(file, look, width) if split else _unified_rows(file, look)
        for places, text in rows:
            lines.append(ReviewLine(text, number, places[-1], spot_of(file, places[-1])))
            for place in places:
                spot = spot_of(file, place)
                if spot is not None and spot in comments:
                    lines.append(ReviewLine(_note(comments[spot], look), number, place, spot))
        lines.append(ReviewLine(Text(""), number))
    return lines[:-1]


def _note(comment: str, look: ScreenLook) -> Text:
    """Return the line that shows a comment."""
    return Text(f"{'':>{_NUMBER * 2 + 3}}✎ {escapes.line(comment)}", style=look.style("yellow", bold=True))


def same_line(lines: list[ReviewLine], wanted: ReviewLine | None) -> int:
    """Return the number (from 0) of the line that shows what `wanted` showed in another layout.

    When no line shows it, return the next one, else the last; when `wanted` is None, the first line that can be
    commented on.
    """
    if wanted is None:
        return first_line_of(lines, 0)
    same = (number for number, line in enumerate(lines) if line[1:] == wanted[1:])
    later = (number for number, line in enumerate(lines) if line[1:3] >= wanted[1:3])
    return next(same, next(later, len(lines) - 1))


def first_line_of(lines: list[ReviewLine], file: int) -> int:
    """Return the number (from 0) of the first line of a file that can be commented on, else that of its first line."""
    own = [number for number, line in enumerate(lines) if line.file == file]
    return next((number for number in own if lines[number].spot is not None), own[0] if own else 0)


def spot_of(file: FileDiff, place: int) -> Spot | None:
    """Return the spot that a comment on line `place` (from 0) of a file's diff is about; None for a header line."""
    line = file.lines[place]
    if line.new is not None:
        return Spot(file.path, line.new, is_removed=False)
    return Spot(file.path, line.old, is_removed=True) if line.old is not None else None


def comments_as_text(files: list[FileDiff], comments: Comments) -> str:
    """Return all comments, one on each line, as `FILE:LINE text`.

    A comment on a removed line names the line of the new file at its place, and quotes the removed line.
    """
    return "\n".join(_comment_line(files, spot, text) for spot, text in sorted(comments.items()))


def _comment_line(files: list[FileDiff], spot: Spot, text: str) -> str:
    """Return one comment as `FILE:LINE text`. For a removed line, find the line of the new file at its place."""
    if not spot.is_removed:
        return f"{spot.path}:{spot.line} {text}"
    for file in files:
        for place, line in enumerate(file.lines):
            if file.path == spot.path and line.new is None and line.old == spot.line:
                return f"{spot.path}:{file.line_for(place) or 1} (about the removed line `{line.text.strip()}`) {text}"
    return f"{spot.path}:{spot.line} (about a removed line) {text}"


def _unified_rows(file: FileDiff, look: ScreenLook) -> Iterator[tuple[tuple[int, ...], Text]]:
    """Yield the lines of a file's diff in one column, with both line numbers, each as (indexes in the diff, text).

    git's lines `diff`, `index`, `---` and `+++` are left out.
    """
    for place, line in enumerate(file.lines):
        if line.kind == "head":
            if not line.text.startswith(("diff ", "index ", "--- ", "+++ ")):
                yield (place,), Text(escapes.line(line.text), style=look.style("dim"))
        elif line.kind == "hunk":
            yield (place,), Text(escapes.line(line.text), style=look.style("cyan"))
        else:
            numbers = f"{line.old or '':>{_NUMBER}} {line.new or '':>{_NUMBER}} "
            text = Text()
            text.append(numbers, style=look.style("dim"))
            text.append_text(diff_line(line.kind, f"{_SIGNS[line.kind]}{line.text}", look))
            yield (place,), text


def _split_rows(file: FileDiff, look: ScreenLook, width: int) -> Iterator[tuple[tuple[int, ...], Text]]:
    """Yield the lines of a file's diff with old and new side by side, each as (indexes in the diff, text).

    git's header lines are left out.
    """
    half = (width - 3) // 2
    for places, old, new in side_by_side(file):
        line = file.lines[places[-1]]
        if line.kind == "head":
            continue
        if line.kind == "hunk":
            yield places, Text(escapes.line(line.text), style=look.style("cyan"))
            continue
        text = _half(old, half, look, old.old if old else None)
        text.append(" │ ", style=look.style("dim"))
        text.append_text(_half(new, half, look, new.new if new else None))
        yield places, text


def _half(line: DiffLine | None, width: int, look: ScreenLook, number: int | None) -> Text:
    """Return one side of a side-by-side line, cut or padded to `width` columns; blanks when `line` is None.

    `number` is the number of the line in its file, None for none.
    """
    if line is None:
        return Text(" " * width)
    text = Text()
    text.append(f"{number or '':>{_NUMBER}} ", style=look.style("dim"))
    shown = escapes.line(line.text.replace("\t", "    "))
    tone = {"added": "green", "removed": "red"}.get(line.kind, "")
    ground = look.diff_background(line.kind) if line.kind in {"added", "removed"} else look.style("")
    text.append(set_cell_size(f"{_SIGNS[line.kind]}{shown}", width - _NUMBER - 1), style=look.style(tone) + ground)
    return text
