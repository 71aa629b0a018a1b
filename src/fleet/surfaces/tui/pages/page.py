"""Page: a screen of lines over the board, which scrolls and closes with one key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual.screen import Screen
from textual.widgets import Static

from fleet.surfaces.tui.dialogs.leaving import LEAVING, draw_soon, is_open, leave
from fleet.surfaces.tui.widgets.bars import key_line
from fleet.surfaces.tui.widgets.line_view import LineView

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult

    from fleet.surfaces.tui.look import ScreenLook

_CLOSES = LEAVING | {"q", "question_mark"}


class Page(Screen[None], inherit_bindings=False):
    """A screen with a title, lines that scroll, and the keys that apply."""

    KEYS: tuple[tuple[str, str], ...] = (("j k", "scroll"), ("← →", "sideways"), ("q", "close"))

    def __init__(self, title: str, look: ScreenLook) -> None:
        super().__init__(classes="page")
        self.look = look
        self._title = title

    def compose(self) -> ComposeResult:
        """Yield the widgets: the title, the lines and the keys."""
        yield Static(Text(self._title, style=self.look.style("blue", bold=True)), id="pagetop", markup=False)
        yield LineView(id="pagelines")
        yield Static(key_line(self.KEYS, self.look, 200), id="pagekeys", markup=False)

    def on_mount(self) -> None:
        """Call `begin` once the size of the page is known.

        Pages override `begin` instead of this method: Textual calls the `on_mount` of a class and of each of its bases.
        """
        self.draw_soon(self.begin)

    def begin(self) -> None:
        """Draw the page for the first time, or begin to fetch its lines. Each page overrides it."""

    def draw_soon(self, draw: Callable[[], None]) -> None:
        """Call `draw` when the size of the page is known, unless the page is closed by then."""
        draw_soon(self, draw)

    def show(self, lines: list[Text]) -> None:
        """Show these lines, and stay where the page is scrolled to. Do nothing when the page is closed already."""
        if is_open(self):
            self.view.show(lines, keep=True)

    @property
    def view(self) -> LineView:
        """The widget that shows the lines of the page."""
        return self.query_one(LineView)

    def on_key(self, event: events.Key) -> None:
        """Pass a key to `press`, which pages override instead of this method."""
        event.stop()
        if is_open(self):
            self.press(event.key)

    def press(self, key: str) -> None:
        """Scroll or close the page, as the key with this name says; ignore other keys."""
        step = max(self.view.size.height - 2, 1)
        by = {"j": 1, "down": 1, "k": -1, "up": -1, "space": step, "pagedown": step, "pageup": -step, "b": -step}
        if key in _CLOSES:
            leave(self)
        elif key in by:
            self.view.scroll_relative(y=by[key], animate=False)
        elif key in {"left", "right", "h", "l"}:
            self.view.scroll_relative(x=8 if key in {"right", "l"} else -8, animate=False)
        elif key in {"home", "g"}:
            self.view.scroll_home(animate=False)
        elif key in {"end", "G"}:
            self.view.scroll_end(animate=False)
