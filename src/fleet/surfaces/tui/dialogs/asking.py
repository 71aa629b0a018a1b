"""Ask: the dialog in which the person chooses one of a few ways by its key. Enter alone chooses nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from fleet.model.text import escapes
from fleet.surfaces.tui.dialogs.leaving import LEAVING, draw_soon, is_open, leave
from fleet.surfaces.tui.widgets.line_view import LineView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult

# How much of the screen the dialog may take, how many of its lines are neither text nor list, and the least lines of a list.
_SHARE, _FRAME, _FEWEST = 0.9, 5, 3


class Way(NamedTuple):
    """One way in a dialog: its key, its name, and what it means for the work."""

    key: str
    name: str
    means: str = ""


class Ask(ModalScreen[str | None]):
    """The dialog that asks which way to go. Returns the name of the chosen way; None when the person leaves.

    `lines` are shown above the ways, `no` says what leaving means. With `danger`, the dialog has the frame of an error.
    """

    def __init__(
        self, title: str, ways: Sequence[Way], *, lines: Sequence[str] = (), danger: bool = False, no: str = "leave it"
    ) -> None:
        super().__init__(classes="dialog -danger" if danger else "dialog")
        self._title = title
        self._ways = ways
        self._lines = lines
        self._leaving = f"n or Esc: {no}"

    def compose(self) -> ComposeResult:
        """Yield the widgets: the title, the lines, the ways with their keys, and the hint."""
        with Vertical():
            yield Static(self._title, classes="title", markup=False)
            if self._lines:
                yield LineView(id="asked")
            yield Static(self._shown_ways(), classes="text", markup=False)
            yield Static(self._leaving, classes="hint", markup=False)

    def _shown_ways(self) -> Text:
        """Return the ways to choose from as text, each with its key and what it means."""
        text = Text()
        for number, way in enumerate(self._ways):
            text.append("\n" if number else "")
            text.append(f" {way.key} ", style="bold reverse")
            text.append(f" {way.name}", style="bold")
            text.append(f": {way.means}" if way.means else "")
        return text

    def on_mount(self) -> None:
        """Show the lines of the dialog once its size is known."""
        if self._lines and is_open(self):
            view = self.query_one(LineView)
            view.styles.height = len(self._lines)
            draw_soon(self, lambda: view.show([Text(escapes.line(line)) for line in self._lines], wrap=True))
            draw_soon(self, self._fit)

    def on_resize(self, _event: events.Resize) -> None:
        """Give the lines as much room as the terminal has by now."""
        if self._lines:
            draw_soon(self, self._fit)

    def _fit(self) -> None:
        """Give the lines the height that they need when wrapped; if it is too much, name the keys that scroll them."""
        view, hint = self.query_one(LineView), self.query_one(".hint", Static)
        texts = sum(each.size.height + each.styles.margin.height for each in self.query(Static))
        most = max(int(self.size.height * _SHARE) - _FRAME - texts, _FEWEST)
        view.styles.height = min(view.line_count, most)
        hint.update(f"↑ ↓: scroll · {self._leaving}" if view.line_count > most else self._leaving)

    def on_key(self, event: events.Key) -> None:
        """Handle a key: a way's key closes the dialog with that way's name, n, q, Esc and Ctrl+C with None.

        The arrows, j, k and the page keys scroll the lines.
        """
        event.stop()
        chosen = {way.key: way.name for way in self._ways}
        if event.key in LEAVING | {"n", "q"} and event.key not in chosen:
            leave(self)
        elif event.character in chosen or event.key in chosen:
            leave(self, chosen.get(event.key) or chosen[event.character or ""])
        elif self._lines and event.key in {"down", "j", "pagedown"}:
            self.query_one(LineView).scroll_down(animate=False)
        elif self._lines and event.key in {"up", "k", "pageup"}:
            self.query_one(LineView).scroll_up(animate=False)
