"""Whole screens as text files: every character, and the style of each run of characters by the names of our own palette.

A file below `snapshots/` has two blocks. The first is the screen, a numbered line each. The second has, for the lines that
are not all plain, where a style begins and which: `4 text bold on selected` holds from column 4 to the next entry. A colour
that is not of the palette, such as those that Textual mixes behind a dialog, is `other`: its value may change with Textual.
`make snapshots` writes the files anew; what changed is read in `git diff` before it is committed.
"""

import difflib
import os
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.color import Color, parse_rgb_hex
from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style
from screen.driving import Sitting
from textual.widgets import Input, TextArea

from fleet.surfaces.tui.look import Palette

FOLDER = Path(__file__).parent / "snapshots"
WRITE = "WRITE_SNAPSHOTS"
# How many seconds a screen that is not as expected may stay unchanged, since threads read what it shows; how many one that
# is written or one after another that was not as expected; and how many it may change.
PATIENCE, REST, LONGEST = 20.0, 1.5, 60.0
LOOK_AGAIN = 0.02
ATTRIBUTES = ("bold", "dim", "italic", "underline", "reverse", "strike")
PLAIN = "text"
ROUNDED = 2


def names_of(palette: Palette) -> dict[str, ColorTriplet]:
    """Return the colours of a palette by their names; none of the terminal's own palette, which has names only."""
    theme = palette.theme
    grounds = {"panel": theme.panel, "surface": theme.surface, "background": theme.background, PLAIN: palette.text}
    own = {"selected": palette.selected, "added": palette.added, "removed": palette.removed}
    named = {**palette.tones, **grounds, **own, "banner": theme.variables["banner-text"]}
    return {name: parse_rgb_hex(shown[1:]) for name, shown in named.items() if shown and shown.startswith("#")}


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
        if colour is None or colour.is_default:
            return PLAIN
        if colour.triplet is None:
            return colour.name
        found = (name for name, known in self._names.items() if _is_near(known, colour.triplet))
        return next(found, "other")


def _is_near(known: ColorTriplet, seen: ColorTriplet) -> bool:
    """Whether two colours are one. Textual rounds what it takes from a theme."""
    return all(abs(one - other) <= ROUNDED for one, other in zip(known, seen, strict=True))


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


class Gallery:
    """Compares the screens of one test with their files, and fails with all differences at its end. Or it writes the files."""

    def __init__(self, person: Sitting, prefix: str) -> None:
        self._person, self._prefix = person, prefix
        self._differences: list[str] = []

    async def shows(self, name: str) -> None:
        """Compare the screen with its file, once it is as the file says or has not changed for a while."""
        file = FOLDER / f"{f'{self._prefix}-{name}' if name else self._prefix}.txt"
        if os.environ.get(WRITE):
            FOLDER.mkdir(exist_ok=True)
            file.write_text(await self._settled("", REST), encoding="utf-8")
            return
        wanted = file.read_text(encoding="utf-8") if file.exists() else ""
        drawn = await self._settled(wanted, REST if self._differences else PATIENCE)
        lines = (text.splitlines(keepends=True) for text in (wanted, drawn))
        self._differences += ["".join(difflib.unified_diff(*lines, file.name, "the screen"))] if drawn != wanted else []

    async def _settled(self, wanted: str, patience: float) -> str:
        """Return the screen once it is as wanted, or has not changed for as long as the patience lasts."""
        for field in self._person.app.screen.query("Input, TextArea").results(Input | TextArea):
            field.cursor_blink = False
        drawn, since, end = "", time.monotonic(), time.monotonic() + LONGEST
        while time.monotonic() < min(since + patience, end):
            before, drawn = drawn, str(Drawing(self._person))
            if drawn == wanted:
                break
            since = since if drawn == before else time.monotonic()
            await self._person._pilot.pause(LOOK_AGAIN)
        return drawn

    def judge(self) -> None:
        """Fail when a screen was not as its file."""
        if self._differences:
            differences = "\n".join(self._differences)
            pytest.fail(f"{differences}\n`make snapshots` writes the files anew", pytrace=False)
