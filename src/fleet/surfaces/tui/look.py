"""How the TUI looks: a dark and a light palette, one with the terminal's own colours, and the style sheet."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rich.style import Style
from textual.theme import BUILTIN_THEMES, Theme

if TYPE_CHECKING:
    from collections.abc import Mapping

# How a key is written where its name is too long.
_SIGNS = {"enter": "⏎", "space": "␣", "tab": "⇥", "shift+tab": "⇤", "escape": "Esc", "left": "←", "right": "→"}


def first_key(keys: Mapping[str, tuple[str, ...]], act: str) -> str:
    """Return the first key of an act as the screen shows it, such as ⏎ for enter; "–" when it has none.

    `keys` has the keys in force by the names of the acts.
    """
    key = next(iter(keys[act]), "–")
    return _SIGNS.get(key, key)


class Palette(NamedTuple):
    """The colours of one look: theme, tones (colours by name), text, selection, backgrounds of changed diff lines.

    "" is no colour.
    """

    theme: Theme
    tones: dict[str, str]
    text: str
    selected: str
    added: str
    removed: str


_DARK_TONES = {
    "red": "#f7768e",
    "yellow": "#e5b567",
    "green": "#9ece6a",
    "cyan": "#7dcfff",
    "blue": "#7aa2f7",
    "magenta": "#bb9af7",
    "dim": "#7d86ab",
}
_LIGHT_TONES = {
    "red": "#b3261e",
    "yellow": "#8a5a00",
    "green": "#2f6b1f",
    "cyan": "#0b6a86",
    "blue": "#2450b5",
    "magenta": "#6f3bb0",
    "dim": "#656c86",
}
_TERMINAL_TONES = {name: f"ansi_{name}" for name in ("red", "yellow", "green", "cyan", "blue", "magenta")}


def _theme(name: str, tones: dict[str, str], *, dark: bool, ground: tuple[str, str, str, str]) -> Theme:
    """Return a Textual theme from tones and the four colours in `ground`: foreground, background, surface, panel."""
    foreground, background, surface, panel = ground
    red, yellow, green, cyan, blue, magenta, dim = tones.values()
    return Theme(
        name=name,
        primary=blue,
        secondary=cyan,
        warning=yellow,
        error=red,
        success=green,
        accent=magenta,
        foreground=foreground,
        background=background,
        surface=surface,
        panel=panel,
        dark=dark,
        variables={
            "banner-text": background if dark else "#ffffff",
            "quiet": dim,
            "line": panel,
            "footer-key-foreground": blue,
        },
    )


DARK = Palette(
    _theme("fleet-dark", _DARK_TONES, dark=True, ground=("#c8d0ee", "#16181f", "#1c1f29", "#2b3042")),
    _DARK_TONES,
    "#c8d0ee",
    "#2b3350",
    "#1c3326",
    "#3a1f29",
)
LIGHT = Palette(
    _theme("fleet-light", _LIGHT_TONES, dark=False, ground=("#22262f", "#fbfbfd", "#f1f2f6", "#d9dce6")),
    _LIGHT_TONES,
    "#22262f",
    "#dbe5ff",
    "#dff3dc",
    "#fbe1e1",
)
_ANSI = next(theme for name, theme in BUILTIN_THEMES.items() if name == "ansi-dark")
TERMINAL = Palette(
    replace(
        _ANSI,
        name="fleet-terminal",
        variables={**_ANSI.variables, "banner-text": "ansi_black", "quiet": "ansi_default", "line": "ansi_default"},
    ),
    _TERMINAL_TONES,
    "default",
    "",
    "",
    "",
)
PALETTES = {"dark": DARK, "light": LIGHT, "terminal": TERMINAL}
# The numbers of light background colours in COLORFGBG.
_LIGHT_GROUNDS = frozenset({"7", "15"})


def palette_for(setting: str) -> Palette:
    """Return the palette for the setting screen.theme.

    For `auto`, choose by the terminal's background, if COLORFGBG names it. When the variable NO_COLOR is set, return the
    palette of the terminal's own colours.
    """
    if os.environ.get("NO_COLOR"):
        return TERMINAL
    if setting in PALETTES:
        return PALETTES[setting]
    ground = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT if ground in _LIGHT_GROUNDS else DARK


class ScreenLook:
    """The styles of one palette. Each style is created once and kept."""

    def __init__(self, palette: Palette) -> None:
        self.palette = palette
        self._styles: dict[tuple[str, bool, bool], Style] = {}

    def style(self, tone: str, *, bold: bool = False, selected: bool = False) -> Style:
        """Return the style for a tone: the name of a colour, "dim", "bold", or "" for plain text.

        With `bold`, the style is bold; with `selected`, it has the background of the selected row.
        """
        key = (tone, bold, selected)
        if key not in self._styles:
            self._styles[key] = self._made(tone, bold=bold or tone == "bold", selected=selected)
        return self._styles[key]

    def _made(self, tone: str, *, bold: bool, selected: bool) -> Style:
        """Create the style for a tone.

        When the palette has no colour for the selection, a selected row has its colours reversed.
        """
        colour = self.palette.tones.get(tone, "")
        ground = self.palette.selected if selected else None
        dim = tone == "dim" and not colour
        named = colour.removeprefix("ansi_") or None
        return Style(
            color=named,
            bgcolor=ground or None,
            bold=bold or None,
            dim=dim or None,
            reverse=(selected and not ground) or None,
        )

    def diff_background(self, name: str) -> Style:
        """Return the background of the diff lines `name` ("added" or "removed"); an empty style without a colour."""
        colour = getattr(self.palette, name)
        return Style(bgcolor=colour) if colour else Style()


SHEET = """
Screen { background: $background; color: $foreground; layers: base over; }
#top { height: 1; background: $panel; padding: 0 1; }
#banner { height: auto; max-height: 4; background: $warning; color: $banner-text; padding: 0 1; display: none; }
#trouble { height: auto; max-height: 3; background: $error; color: $banner-text; padding: 0 1; display: none; }
#banner.-shown, #trouble.-shown { display: block; }
#banner:nocolor, #trouble:nocolor { text-style: reverse; }
#body { height: 1fr; }
#left { width: 36%; min-width: 34; border-right: vkey $line; }
#rows { height: 1fr; scrollbar-size-vertical: 1; }
#filter { height: 1; border: none; padding: 0 1; background: $surface; display: none; }
#filter.-shown { display: block; }
#right { width: 1fr; }
#about { height: auto; max-height: 5; padding: 0 1; }
#question { height: auto; max-height: 60%; border-left: thick $warning; background: $surface; margin: 0 0 0 1; padding: 0 1; display: none; }
#question.-shown { display: block; }
#tabs { height: 2; padding: 0 1; }
#lines { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; }
#keys { height: 1; background: $panel; padding: 0 1; }
#running { height: 1; padding: 0 1; background: $surface; color: $warning; display: none; }
#running.-shown { display: block; }
.dialog { align: center middle; background: $background 60%; }
.dialog > Vertical { width: 80%; max-width: 90; height: auto; max-height: 90%; background: $surface; border: round $primary; padding: 1 2; }
.dialog .title { text-style: bold; height: auto; }
.dialog .text { height: auto; margin: 1 0 0 0; }
.dialog .hint { color: $quiet; height: auto; margin: 1 0 0 0; }
.dialog Input { margin: 1 0 0 0; border: tall $line; background: $background; }
.dialog TextArea { margin: 1 0 0 0; height: 10; border: tall $line; background: $background; }
.dialog LineView { overflow-x: hidden; height: auto; margin: 1 0 0 0; }
.dialog.-danger > Vertical { border: round $error; }
.page #pagetop { height: auto; background: $panel; padding: 0 1; }
.page #pagebody { height: 1fr; }
.page #files { width: 30%; min-width: 24; height: 100%; border-right: vkey $line; padding: 0 1; }
.page LineView { height: 1fr; padding: 0 1; }
.page #pagekeys { height: 1; background: $panel; padding: 0 1; }
Toast { background: $surface; }
"""
