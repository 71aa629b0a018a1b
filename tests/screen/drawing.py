"""Whole screens as text files: every character, and the style of each run of characters by the names of our own palette.

A file below `snapshots/` has two blocks. The first is the screen, a numbered line each. The second has, for the lines that
are not all plain, where a style begins and which: `4 text bold on selected` holds from column 4 to the next entry. A colour
that is not of the palette, such as those that Textual mixes behind a dialog, is `other`: its value may change with Textual.
`make snapshots` writes the files anew; what changed is read in `git diff` before it is committed.
"""

import difflib
import os
from collections.abc import Iterable
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from screen.driving import Sitting
from textual.widgets import Input, TextArea

from fleet.surfaces.tui.look import Palette

FOLDER = Path(__file__).parent / "snapshots"
WRITE = "WRITE_SNAPSHOTS"
# How long a screen that is not as expected may stay so, in seconds: what it shows is read by threads.
PATIENCE, REST = 5.0, 1.0
LOOK_AGAIN = 0.02
ATTRIBUTES = ("bold", "dim", "italic", "underline", "reverse", "strike")
PLAIN = "text"


def names_of(palette: Palette) -> dict[str, str]:
    """Return the name of each colour of a palette."""
    theme = palette.theme
    grounds = {"panel": theme.panel, "surface": theme.surface, "background": theme.background, "text": palette.text}
    own = {"selected": palette.selected, "added": palette.added, "removed": palette.removed}
    named = {**grounds, **own, **palette.tones}
    return {str(colour).removeprefix("ansi_").casefold(): name for name, colour in named.items() if colour} | {
        "default": PLAIN
    }


class Drawing:
    """The screen of an app at one moment."""

    def __init__(self, person: Sitting) -> None:
        self._names = names_of(person.app.look.palette)
        self._strips = person.app.screen._compositor.render_strips()
        size = person.app.size
        self._head = f"{size.width} × {size.height}, {person.app.theme}"

    def __str__(self) -> str:
        lines = ["".join(each.text for each in strip) for strip in self._strips]
        shown = [f"{number:>2}│{line}│" for number, line in enumerate(lines)]
        styles = [f"{number:>2} {runs}" for number, strip in enumerate(self._strips) if (runs := self._runs(strip))]
        return "\n".join([self._head, "", *shown, "", *_merged(styles), ""])

    def _runs(self, strip: list[Segment]) -> str:
        """Return where each style of a line begins; empty for a line that is plain."""
        runs: list[tuple[int, str, str]] = []
        column = 0
        for text, style, _ in strip:
            run = (column, self._letters(style or Style(), blank=not text.strip()), self._ground(style or Style()))
            if text and (not runs or runs[-1][1:] != run[1:]):
                runs.append(run)
            column += cell_len(text)
        grounds = {ground for _, _, ground in runs}
        if grounds == {""}:
            return "" if {name for _, name, _ in runs} <= {PLAIN} else _joined(runs)
        if len(grounds) == 1:
            return f"all{runs[0][2]}: {_joined((at, name, '') for at, name, _ in runs)}"
        return _joined(runs)

    def _letters(self, style: Style, *, blank: bool) -> str:
        """Return the style of letters in words. Blanks are plain, unless they are underlined or reversed."""
        seen = [each for each in ATTRIBUTES if getattr(style, each) and (not blank or each in {"reverse", "underline"})]
        return " ".join([PLAIN if blank and not style.reverse else self._colour(style.color), *seen])

    def _ground(self, style: Style) -> str:
        ground = self._colour(style.bgcolor)
        return f" on {ground}" if ground not in {"background", PLAIN} else ""

    def _colour(self, colour: Color | None) -> str:
        if colour is None:
            return PLAIN
        shown = colour.triplet.hex if colour.triplet else colour.name
        return self._names.get(shown.casefold(), "other")


def _joined(runs: Iterable[tuple[int, str, str]]) -> str:
    return " · ".join(f"{at} {letters}{ground}" for at, letters, ground in runs)


def _merged(styles: list[str]) -> list[str]:
    """Return the lines of the second block; one for all neighbours that are alike."""
    merged: list[tuple[str, str, str]] = []
    for line in styles:
        number, runs = line[:2], line[3:]
        if merged and merged[-1][2] == runs and int(merged[-1][1]) + 1 == int(number):
            merged[-1] = (merged[-1][0], number, runs)
        else:
            merged.append((number, number, runs))
    return [f"{first}{f'–{last.strip()}' if last != first else ''}  {runs}" for first, last, runs in merged]


async def compare(person: Sitting, name: str) -> str:
    """Compare the screen with its file; return a unified diff, empty when they are the same. Or write the file."""
    for field in person.app.screen.query("Input, TextArea").results(Input | TextArea):
        field.cursor_blink = False
    file = FOLDER / f"{name}.txt"
    wanted = "" if os.environ.get(WRITE) or not file.exists() else file.read_text(encoding="utf-8")
    drawn = await _settled(person, wanted)
    if os.environ.get(WRITE):
        FOLDER.mkdir(exist_ok=True)
        file.write_text(drawn, encoding="utf-8")
        return ""
    lines = (text.splitlines(keepends=True) for text in (wanted, drawn))
    return "".join(difflib.unified_diff(*lines, f"{name}.txt", "the screen"))


async def _settled(person: Sitting, wanted: str) -> str:
    """Return the screen once it is as wanted, or else has not changed for a while."""
    drawn, unchanged = "", 0.0
    while drawn != wanted or not wanted:
        before, drawn = drawn, str(Drawing(person))
        unchanged = unchanged + LOOK_AGAIN if drawn == before else 0.0
        if unchanged > (PATIENCE if wanted else REST):
            break
        if drawn != wanted:
            await person._pilot.pause(LOOK_AGAIN)
    return drawn


class Gallery:
    """Compares the screens of one test, and fails with all differences at its end."""

    def __init__(self, person: Sitting, prefix: str) -> None:
        self._person, self._prefix, self._found = person, prefix, []

    async def shows(self, name: str) -> None:
        self._found.append(await compare(self._person, f"{self._prefix}-{name}" if name else self._prefix))

    def judge(self) -> None:
        differences = "\n".join(each for each in self._found if each)
        if differences:
            pytest.fail(f"{differences}\n`make snapshots` writes the files anew", pytrace=False)
