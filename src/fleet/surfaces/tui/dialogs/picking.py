"""Pick: the dialog with a list that is filtered while the person types, such as the palette of acts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.text import Text
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from fleet.surfaces.tui.dialogs.leaving import LEAVING, draw_soon, is_open, leave
from fleet.surfaces.tui.widgets.line_view import LineView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult

    from fleet.surfaces.tui.look import ScreenLook

# The share of the terminal's height that the dialog may take, and the number of its lines around the list.
_SHARE, _AROUND = 0.9, 12
# The least and the greatest number of lines of the list.
_FEWEST, _MOST = 3, 14


class PickedChoice(NamedTuple):
    """One entry of the list: the value that the dialog returns for it, and the name, description and key to show."""

    value: str
    name: str
    text: str = ""
    key: str = ""


class Pick(ModalScreen[str | None]):
    """The dialog in which the person picks one entry of a list. Returns its value; None when the person leaves."""

    def __init__(self, title: str, choices: Sequence[PickedChoice], look: ScreenLook) -> None:
        super().__init__(classes="dialog")
        self._title = title
        self._choices = choices
        self._look = look
        self._fitting = list(choices)
        self._at = 0

    def compose(self) -> ComposeResult:
        """Yield the widgets: the title, the search field, the list and the hint."""
        with Vertical():
            yield Static(self._title, classes="title", markup=False)
            yield Input(placeholder="type to search", id="search")
            yield LineView(id="choices")
            yield Static("Enter picks · Esc leaves", classes="hint", markup=False)

    def on_mount(self) -> None:
        """Show the whole list and let the person type."""
        if not is_open(self):
            return
        view = self.query_one(LineView)
        view.cursor_style = self._look.style("", selected=True)
        self.query_one(Input).focus()
        draw_soon(self, self._show)

    def on_resize(self, event: events.Resize) -> None:
        """Give the list as many lines as fit the terminal."""
        if not is_open(self):
            return
        most = max(int(event.size.height * _SHARE) - _AROUND, _FEWEST)
        self.query_one(LineView).styles.height = min(len(self._choices), _MOST, most)

    def _show(self) -> None:
        """Draw the entries that match, with the cursor on one of them."""
        if not is_open(self):
            return
        wide = max((len(each.name) for each in self._choices), default=0)
        keys = max((cell_len(each.key) for each in self._choices), default=0)
        lines = []
        for each in self._fitting:
            line = Text()
            line.append(f" {each.key:>{keys}} ", style=self._look.style("blue", bold=True))
            line.append(f" {each.name:<{wide}}  ", style="bold")
            line.append(each.text, style=self._look.style("dim"))
            lines.append(line)
        view = self.query_one(LineView)
        view.show(lines or [Text(" nothing fits", style=self._look.style("dim"))], keep=True)
        view.select(self._at)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show only the entries that contain all typed words."""
        words = event.value.casefold().split()
        self._fitting = [
            each for each in self._choices if all(word in f"{each.name} {each.text}".casefold() for word in words)
        ]
        self._at = 0
        self._show()

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Close the dialog with the value of the entry under the cursor; with None when no entry matches."""
        leave(self, self._fitting[self._at].value if self._fitting else None)

    def on_key(self, event: events.Key) -> None:
        """Move the cursor in the list, or leave the dialog with Esc or Ctrl+C."""
        if event.key in LEAVING:
            event.stop()
            leave(self)
        elif event.key in {"down", "up", "ctrl+n", "ctrl+p"} and self._fitting:
            event.stop()
            step = 1 if event.key in {"down", "ctrl+n"} else -1
            self._at = (self._at + step) % len(self._fitting)
            self._show()
