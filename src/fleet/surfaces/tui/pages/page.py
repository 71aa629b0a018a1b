"""Page: a whole page of lines over the board, which scrolls and closes with one key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual.screen import Screen
from textual.widgets import Static

from fleet.surfaces.tui.dialogs.leaving import leave
from fleet.surfaces.tui.widgets.bars import key_line
from fleet.surfaces.tui.widgets.line_view import LineView

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from fleet.surfaces.tui.look import Look

_CLOSES = frozenset({"escape", "q", "question_mark"})


class Page(Screen[None], inherit_bindings=False):
    """A page with a title, lines, and the keys that apply."""

    KEYS: tuple[tuple[str, str], ...] = (("j k", "scroll"), ("q", "close"))

    def __init__(self, title: str, look: Look) -> None:
        super().__init__(classes="page")
        self.look = look
        self._title = title

    def compose(self) -> ComposeResult:
        """Draw the title, the lines and the keys."""
        yield Static(Text(self._title, style=self.look.style("blue", bold=True)), id="pagetop", markup=False)
        yield LineView(id="pagelines")
        yield Static(key_line(self.KEYS, self.look, 200), id="pagekeys", markup=False)

    def on_mount(self) -> None:
        """Draw the lines of the page when it is shown."""
        self.call_after_refresh(self.draw)

    def draw(self) -> None:
        """Draw the lines of the page again."""
        self.view.show(self.lines(), keep=True)

    @property
    def view(self) -> LineView:
        """The widget that shows the lines of the page."""
        return self.query_one(LineView)

    def lines(self) -> list[Text]:
        """Return what the page shows."""
        return []

    def retitle(self, title: str) -> None:
        """Show another title."""
        self.query_one("#pagetop", Static).update(Text(title, style=self.look.style("blue", bold=True)))

    def on_key(self, event: events.Key) -> None:
        """Scroll, or close the page."""
        event.stop()
        step = max(self.view.size.height - 2, 1)
        by = {"j": 1, "down": 1, "k": -1, "up": -1, "space": step, "pagedown": step, "pageup": -step, "b": -step}
        if event.key in _CLOSES:
            leave(self)
        elif event.key in by:
            self.view.scroll_relative(y=by[event.key], animate=False)
        elif event.key in {"left", "right", "h", "l"}:
            self.view.scroll_relative(x=8 if event.key in {"right", "l"} else -8, animate=False)
        elif event.key in {"home", "g"}:
            self.view.scroll_home(animate=False)
        elif event.key in {"end", "G"}:
            self.view.scroll_end(animate=False)
