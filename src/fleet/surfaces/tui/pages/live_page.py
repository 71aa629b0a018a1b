"""LivePage: a page whose lines are fetched again and again by a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual.message import Message

from fleet.surfaces.tui.feeds.repeating import Repeating
from fleet.surfaces.tui.pages.page import Page

if TYPE_CHECKING:
    from fleet.api.fleet import Fleet
    from fleet.surfaces.tui.look import ScreenLook


class LivePage(Page):
    """A page that stays current: a thread fetches its lines every few seconds while it is open."""

    class Fetched(Message):
        """A Textual message that carries the newly fetched lines."""

        def __init__(self, lines: list[Text]) -> None:
            super().__init__()
            self.lines = lines

    def __init__(self, title: str, look: ScreenLook, home: str) -> None:
        super().__init__(title, look)
        self._home = home
        self._feed: Repeating[list[Text]] | None = None

    def begin(self) -> None:
        """Show "…" and start the thread that fetches the lines of the page."""
        self.show([Text("…", style=self.look.style("dim"))])
        self.fetch_anew()

    def fetch_anew(self) -> None:
        """Start a thread that fetches the lines at once, and again every few seconds; stop an earlier one."""
        self.on_unmount()
        self._feed = Repeating(
            self._home,
            self.fetch,
            shown=self._tell,
            failed=lambda why: self._tell([Text(why, style=self.look.style("red"))]),
        )
        self._feed.start()

    def _tell(self, lines: list[Text]) -> None:
        """Send the fetched lines to the page. The fetching thread calls this."""
        self.post_message(self.Fetched(lines))

    def on_unmount(self) -> None:
        """Stop the thread that fetches the lines."""
        if self._feed is not None:
            self._feed.stop()

    def fetch(self, fleet: Fleet) -> list[Text]:
        """Return the lines of the page. The fetching thread calls this; each page overrides it."""
        raise NotImplementedError

    def on_live_page_fetched(self, event: Fetched) -> None:
        """Draw the lines that were fetched."""
        self.show(event.lines)
