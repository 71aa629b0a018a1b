"""FleetApp: the Textual application.

It owns the threads that read from fleet, and lends the terminal to agents' sessions.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App

from fleet.surfaces.tui.board import Board
from fleet.surfaces.tui.feeds.details import Details
from fleet.surfaces.tui.feeds.loader import Loader
from fleet.surfaces.tui.feeds.tabs import Tabs
from fleet.surfaces.tui.keyboard import Keyboard
from fleet.surfaces.tui.look import PALETTES, SHEET, ScreenLook
from fleet.world.funnel import Funnel
from fleet.world.process.programs import lend_terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.api.fleet import Fleet
    from fleet.api.views.changes import Changes
    from fleet.model.results.views import Snapshot
    from fleet.surfaces.tui.feeds.details import DetailsWish, Shown
    from fleet.surfaces.tui.look import Palette

# Seconds after which Python switches from a reading thread to the one that draws; Python's default is five times as long.
_SWITCH = 0.001
# The signals that end the TUI: from `kill`, and from a terminal that was closed.
_ENDINGS = (signal.SIGTERM, signal.SIGHUP)


class FleetApp(App[None], inherit_bindings=False):
    """The Textual application of the TUI, for one fleet home.

    `keys` has the keys in force by the names of the acts. `changes_of` makes the source that says when something has
    changed; tests replace it.
    """

    CSS = SHEET
    TITLE = "fleet"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = []

    def __init__(
        self,
        home: str,
        *,
        keys: dict[str, tuple[str, ...]],
        palette: Palette,
        actor: str | None = None,
        changes_of: Callable[[Fleet], Changes] = lambda fleet: fleet.views.changes(),
    ) -> None:
        self.home = home
        self.keys = keys
        self.actor = actor
        self.look = ScreenLook(palette)
        # The unexpected error that has ended the TUI.
        self.fault: Exception | None = None
        # Textual chooses how it leaves out colours now, before it knows the theme.
        super().__init__(ansi_color=palette.theme.ansi or None)
        for each in PALETTES.values():
            self.register_theme(each.theme)
        self.theme = palette.theme.name
        # The newest snapshot, and the newest lines of a tab, while they are not drawn; None when they are.
        self._newest: Snapshot | None = None
        self._newest_details: Shown | None = None
        self._keyboard = Keyboard(self, super().on_event)
        self._loader = Loader(home, loaded=self._on_loaded, lost=self._on_lost, changes_of=changes_of)
        self._details = Details(home, Tabs(self.look, keys), shown=self._on_shown, changed=self._on_changed)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return fleet's own variables of the style sheet, for a theme that does not set them."""
        return {"banner-text": "#000000", "quiet": "#808080", "line": "#808080"}

    def get_default_screen(self) -> Board:
        """Return the board, which Textual shows first."""
        return self.board

    @property
    def board(self) -> Board:
        """The board; created at first use."""
        if not hasattr(self, "_board"):
            self._board = Board(self)
        return self._board

    def on_mount(self) -> None:
        """Start the reading threads after the first frame is drawn: before that they would only slow it down."""
        sys.setswitchinterval(_SWITCH)
        self._listen_to_signals()
        self.run_worker(self._keyboard.run())
        self.call_after_refresh(self._begin)

    async def on_event(self, event: events.Event) -> None:
        """Handle an event of Textual. Keys and pastes go through the keyboard, which keeps their order."""
        if isinstance(event, (events.Key, events.Paste)) and not event.is_forwarded:
            self._keyboard.take(event)
        else:
            await super().on_event(event)

    def _begin(self) -> None:
        self._loader.start()
        self._details.start()

    def _listen_to_signals(self) -> None:
        """Let SIGTERM and SIGHUP end the TUI as its key for quitting does, so that the terminal is left as it was.

        While the terminal is lent to an agent's session, the TUI ends when the session gives the terminal back. If a
        signal is ignored or handled otherwise already, that is left as it is.
        """
        loop = asyncio.get_running_loop()
        for number in _ENDINGS:
            if signal.getsignal(number) is signal.SIG_DFL:
                loop.add_signal_handler(number, partial(self.exit, return_code=128 + number))

    def _handle_exception(self, error: Exception) -> None:
        """Keep an unexpected error in `fault` and end the TUI, without the values of all variables that Textual would print."""
        self.fault = self.fault or error
        super()._handle_exception(error)
        self._exit_renderables.clear()

    def on_unmount(self) -> None:
        """Stop the threads that read from fleet."""
        self._loader.stop()
        self._details.stop()

    # the feeds, from their threads: only the newest of each waits to be drawn --------------------------------------------
    def _on_loaded(self, snapshot: Snapshot) -> None:
        """Keep a new snapshot and let the board draw it. Called in the loader's thread."""
        is_waiting, self._newest = self._newest is not None, snapshot
        if not is_waiting:
            self.board.post(self._draw_newest)

    def _draw_newest(self) -> None:
        """Draw the newest snapshot on the board, unless it was drawn already."""
        snapshot, self._newest = self._newest, None
        if snapshot is not None:
            self.board.show_snapshot(snapshot)

    def _on_lost(self, why: str) -> None:
        """Let the board show why the store cannot be read. Called in the loader's thread."""
        self.board.post(lambda: self.board.show_loss(why))

    def _on_shown(self, shown: Shown) -> None:
        """Keep the lines just fetched for a tab, and let the screen's thread draw them. Called in the thread that fetches them."""
        is_waiting, self._newest_details = self._newest_details is not None, shown
        if not is_waiting:
            self.board.post(self._draw_details)

    def _draw_details(self) -> None:
        """Draw the newest lines of the tab on the board, unless they were drawn already."""
        shown, self._newest_details = self._newest_details, None
        if shown is not None:
            self.board.show_details(shown)

    def _on_changed(self, changes: dict[str, str]) -> None:
        """Let the board draw how many lines each branch changes. Called in the thread of the details."""
        self.board.post(lambda: self.board.show_changes(changes))

    def want(self, wish: DetailsWish | None) -> None:
        """Let the details thread fetch the row and tab that the person looks at; None fetches nothing."""
        self._details.want(wish)

    def hurry(self) -> None:
        """Let the loader take the next snapshot as soon as it can, because something may have changed."""
        self._loader.hurry()

    def lend(self, words: list[str]) -> None:
        """Give the terminal to the program with the command line `words` until it ends, then draw everything again."""
        self.want(None)
        with self.suspend():
            lend_terminal(Funnel(), words)
        self.refresh(layout=True)
        self.hurry()
        self.board.fetch_tab()
