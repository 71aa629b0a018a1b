"""The page that lists all keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from fleet.model.settings.keys import ACTS
from fleet.surfaces.tui.pages.page import Page

if TYPE_CHECKING:
    from fleet.model.states import Tone
    from fleet.surfaces.tui.look import Look

_PLACES = {"board": "Everywhere", "review": "In a review"}
_GLYPHS: tuple[tuple[str, Tone, str], ...] = (
    ("◐", "yellow", "waits for you: it asks, or its work is to be reviewed"),
    ("●", "cyan", "at work"),
    ("○", "green", "idle, or ready to start"),
    ("✕", "red", "failed, ended, or something is in the way"),
    ("⏸", "yellow", "parked: blocked, or waiting for a time or a limit"),
    ("◇", "blue", "waits to be merged"),
    ("?", "red", "unknown: nothing is done to it"),
    ("!", "yellow", "not released although nobody needs it"),
)


class HelpPage(Page):
    """All keys and glyphs."""

    def __init__(self, keys: dict[str, tuple[str, ...]], look: Look) -> None:
        super().__init__("Keys", look)
        self._keys = keys

    def lines(self) -> list[Text]:
        """Return a line for each act, and one for each glyph."""
        lines: list[Text] = []
        for place, title in _PLACES.items():
            lines += [Text(title, style="bold")]
            for act in (act for act in ACTS if act.place == place):
                line = Text()
                line.append(f"  {'  '.join(self._keys[act.name]):<24}", style=self.look.style("blue", bold=True))
                line.append(act.help, style=self.look.style(""))
                lines.append(line)
            lines.append(Text(""))
        lines.append(Text("Glyphs", style="bold"))
        for glyph, tone, means in _GLYPHS:
            line = Text()
            line.append(f"  {glyph:<24}", style=self.look.style(tone, bold=True))
            line.append(means, style=self.look.style(""))
            lines.append(line)
        note = 'Other keys: [keys] in config.toml, for example kill = "X"; 1 to 9 always choose an answer.'
        return [*lines, Text(""), Text(note, style=self.look.style("dim"))]
