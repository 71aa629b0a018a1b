"""The page that lists all keys and glyphs."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from rich.text import Text

from fleet.model.settings.keys import ACTS
from fleet.surfaces.tui.pages.page import Page

if TYPE_CHECKING:
    from textual import events

    from fleet.model.states import Tone
    from fleet.surfaces.tui.look import ScreenLook

# Columns for the name of an entry, and the least columns of a line.
_NAME, _NARROWEST = 24, 50
_PLACES = {"board": "On the board", "review": "In a review"}
_GLYPHS: tuple[tuple[str, Tone, str], ...] = (
    ("◐", "yellow", "waits for you: it asks, or its work is to be reviewed"),
    ("●", "cyan", "at work"),
    ("○", "green", "idle, or ready to start"),
    ("✕", "red", "failed, ended, or something is in the way"),
    ("⏸", "yellow", "parked: blocked, or waiting for a time or a limit"),
    ("◇", "blue", "waits to be merged"),
    ("·", "dim", "waits for another task, for room, or for a coordinator"),
    ("✓", "blue", "done"),
    ("–", "dim", "abandoned"),
    ("?", "red", "unknown: nothing is done to it"),
    ("!", "yellow", "not released although nobody needs it"),
)


class HelpPage(Page):
    """The page that lists all keys and glyphs, with what they mean."""

    def __init__(self, keys: dict[str, tuple[str, ...]], look: ScreenLook) -> None:
        super().__init__("Keys", look)
        self._keys = keys

    def begin(self) -> None:
        """Draw the page for the first time."""
        self._draw()

    def _draw(self) -> None:
        """Draw the lines of the page again."""
        self.show(self._lines())

    def _lines(self) -> list[Text]:
        """Return the lines of the page: one entry for each act and each glyph."""
        lines: list[Text] = []
        for place, title in _PLACES.items():
            lines += [Text(title, style="bold")]
            for act in (act for act in ACTS if act.place == place):
                lines += self._entry("  ".join(self._keys[act.name]), act.help, "blue")
            lines.append(Text(""))
        lines.append(Text("Glyphs", style="bold"))
        for glyph, tone, means in _GLYPHS:
            lines += self._entry(glyph, means, tone)
        note = 'Other keys: [keys] in config.toml, for example kill = "X"; 1 to 9 always choose an answer.'
        return [*lines, Text(""), *(Text(part, style=self.look.style("dim")) for part in wrap(note, self._room))]

    @property
    def _room(self) -> int:
        """How many columns a line of the page may take."""
        return max(self.view.scrollable_content_region.width, _NARROWEST)

    def _entry(self, name: str, means: str, tone: Tone) -> list[Text]:
        """Return the lines of one entry: its name, and beside it its meaning, wrapped."""
        names = [name, *[""] * len(means)]
        lines = []
        for head, part in zip(names, wrap(means, self._room - _NAME - 2), strict=False):
            line = Text()
            line.append(f"  {head:<{_NAME}}", style=self.look.style(tone, bold=True))
            line.append(part, style=self.look.style(""))
            lines.append(line)
        return lines

    def on_resize(self, _event: events.Resize) -> None:
        """Draw the page again with lines wrapped for the new width."""
        self.draw_soon(self._draw)
