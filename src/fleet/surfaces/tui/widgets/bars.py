"""The bars of the board: counts at the top, the tabs, and the keys that apply at the bottom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text
from textual.message import Message
from textual.widgets import Static

from fleet.surfaces.tui.feeds.tabs import TABS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual import events

    from fleet.model.results.views import Snapshot
    from fleet.surfaces.tui.look import ScreenLook

# The counts in the top bar: the group, its glyph, its tone, and its words for many and for one.
_COUNTS = (
    ("needs you", "◐", "yellow", "need you", "needs you"),
    ("to review", "◐", "yellow", "to review", "to review"),
    ("failed", "✕", "red", "failed", "failed"),
    ("ended", "✕", "red", "ended", "ended"),
    ("parked", "⏸", "yellow", "parked", "parked"),
    ("to merge", "◇", "blue", "to merge", "to merge"),
    ("working", "●", "cyan", "working", "working"),
    ("ready", "○", "green", "ready", "ready"),
    ("waiting", "·", "dim", "waiting", "waiting"),
)
# What stands for the counts that do not fit.
_MORE = "  …"
_NO_PROJECT = "no projects yet: run `fleet up` in a repository"


def top_line(snapshot: Snapshot | None, look: ScreenLook, clock: str, width: int, *, new: str) -> Text:
    """Return the top bar: how many rows each group has, what today has cost, and the time of the snapshot.

    Before the first snapshot (None) it says that fleet is reading. `new` is the key that adds a task.
    """
    line = Text()
    line.append(" fleet ", style=look.style("blue", bold=True))
    if snapshot is None:
        line.append("  reading …", style=look.style("dim"))
        return line
    counts = snapshot.counts
    right = f"{_cost(snapshot)}{clock} "
    for group, glyph, tone, many, one in _COUNTS:
        if number := counts.get(group, 0):
            part = f"  {glyph} {number} {one if number == 1 else many}"
            if line.cell_len + len(part) + len(_MORE) + len(right) >= width:
                line.append(_MORE, style=look.style("dim"))
                break
            line.append(part, style=look.style(tone, bold=group in {"needs you", "failed"}))
    if not any(counts.values()):
        hint = f"nothing is going on: {new} adds a task" if snapshot.page.projects else _NO_PROJECT
        line.append(f"  {hint}", style=look.style("dim"))
    line.append(" " * max(width - line.cell_len - len(right), 1))
    line.append(right, style=look.style("dim"))
    return line


def _cost(snapshot: Snapshot) -> str:
    """Return what agents have cost today, for the top bar; "" when no cost is known."""
    return f"${snapshot.page.today.dollars:.2f} today  " if snapshot.page.today.tokens else ""


def key_line(
    keys: Iterable[tuple[str, str]], look: ScreenLook, width: int, *, always: Sequence[tuple[str, str]] = ()
) -> Text:
    """Return a line of keys, each (key, word), not wider than `width`: as many of `keys` as fit, then all of `always`."""
    line, room = Text(), width - sum(_key_width(*each) for each in always)
    for key, word in keys:
        if line.cell_len + _key_width(key, word) > room:
            break
        _add_key(line, key, word, look)
    for key, word in always:
        _add_key(line, key, word, look)
    line.right_crop(2)
    return line


def _key_width(key: str, word: str) -> int:
    """Return the columns that a key and its word take in the line, with the blanks after each."""
    return cell_len(key) + cell_len(word) + 3


def _add_key(line: Text, key: str, word: str, look: ScreenLook) -> None:
    line.append(f"{key} ", style=look.style("blue", bold=True))
    line.append(f"{word}  ", style=look.style(""))


def tab_line(current: str, look: ScreenLook) -> Text:
    """Return the names of the tabs. A thick line below the current one marks it, not colour alone."""
    names, under = Text(), Text()
    for name in TABS:
        names.append(f" {name} ", style=look.style("blue" if name == current else "dim", bold=name == current))
        under.append(
            ("━" if name == current else "─") * (len(name) + 2), style=look.style("blue" if name == current else "dim")
        )
    return Text("\n").join([names, under])


class Bar(Static):
    """A widget with some lines of text. The screen is laid out again only when their number changes."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's own
        super().__init__(id=id, markup=False)
        self._drawn: Text | None = None
        self._height = 0

    def draw(self, text: Text) -> None:
        """Show this text, if it differs from the current one."""
        if text == self._drawn:
            return
        self._drawn, width = text, self.content_size.width
        self.update(text, layout=False)
        before, self._height = self._height, self._needed_height(width)
        if self._height != before or not width:
            self.refresh(layout=True)

    def _needed_height(self, width: int) -> int:
        """Return how many lines the text takes at this width."""
        self.clear_cached_dimensions()
        return self.get_content_height(self.container_size, self.container_size, width)

    def show(self, *, shown: bool) -> None:
        """Show or hide the bar."""
        self.set_class(shown, "-shown")


class TabBar(Bar):
    """The bar of tabs, which can be clicked."""

    class Clicked(Message):
        """A Textual message: a tab was clicked."""

        def __init__(self, tab: str) -> None:
            super().__init__()
            self.tab = tab

    def on_click(self, event: events.Click) -> None:
        """Post which tab was clicked."""
        found = tab_at(event.x - self.styles.padding.left)
        if found:
            self.post_message(self.Clicked(found))


def tab_at(column: int) -> str | None:
    """Return the tab at a column of the tab bar; None beside the tabs."""
    for name in TABS:
        column -= len(name) + 2
        if column < 0:
            return name
    return None
