"""LineView: a scrolling view of any number of lines, of which only the visible ones are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.text import Text
from textual.geometry import Size
from textual.strip import Strip

from fleet.surfaces.tui.widgets.drawn_view import DrawnView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.style import Style
    from textual import events

# From this number of lines on they are not wrapped, because that would take too long.
_MOST_WRAPPED = 5_000


class LineView(DrawnView):
    """A scrolling view of lines of text. It can wrap them, and can show a cursor."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own
        super().__init__(id=id)
        self._given: list[Text] = []
        self._lines: list[Text] = []
        self._is_wrapped = False
        self._width = 0
        self.cursor: int | None = None
        self.cursor_style: Style | None = None

    def show(self, lines: Sequence[Text], *, wrap: bool = False, at_end: bool = False, keep: bool = False) -> None:
        """Show these lines, scrolled to the top. With `wrap`, wrap long lines to the width.

        5000 and more lines are never wrapped. With `keep`, the view stays scrolled where it is; with `at_end`, it
        scrolls to the last line.
        """
        if (self._given, self._is_wrapped) != (lines, wrap):
            self._given, self._is_wrapped = list(lines), wrap
            self._wrap()
            self.refresh()
        if at_end:
            self.scroll_end(animate=False, force=True, x_axis=not keep)
        elif not keep:
            self.scroll_home(animate=False, force=True)

    @property
    def is_at_end(self) -> bool:
        """Whether the last line is visible."""
        return self.scroll_offset.y >= self.max_scroll_y

    @property
    def line_count(self) -> int:
        """How many lines there are, after wrapping."""
        return len(self._lines)

    def _wrap(self) -> None:
        """Wrap the lines to the width if they are to be wrapped, and set the size of the content."""
        self._width = max(self.scrollable_content_region.width, 10)
        self._lines = self._given
        if self._is_wrapped and len(self._given) < _MOST_WRAPPED:
            console = self.app.console
            self._lines = [part for line in self._given for part in _wrapped(line, self._width, console)]
        width = self._width if self._is_wrapped else max((line.cell_len for line in self._lines), default=0)
        self.extend(Size(width, len(self._lines)))

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap the lines again when the width has changed."""
        if self.scrollable_content_region.width != self._width:
            self._wrap()
            self.refresh()

    def select(self, number: int) -> None:
        """Put the cursor on line `number` (from 0), or the nearest existing one, and scroll so that it is visible."""
        before, self.cursor = self.cursor, max(0, min(number, len(self._lines) - 1))
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        if self.cursor < top + 2:
            self.scroll_to(y=max(self.cursor - 2, 0), animate=False, force=True)
        elif self.cursor >= top + height - 2:
            self.scroll_to(y=self.cursor - height + 3, animate=False, force=True)
        for line in {self.cursor, self.cursor if before is None else before}:
            self.refresh_line(line)

    def render_line(self, y: int) -> Strip:
        """Return line `y` of the window as Textual draws it."""
        left, top = self.scroll_offset
        number, width = y + top, self.scrollable_content_region.width
        if not 0 <= number < len(self._lines):
            return Strip.blank(width, self.background_style)
        line = self._lines[number]
        ground = self.background_style + self.app.console.get_style(line.style)
        segments = [
            Segment(text, ground + style if style else ground) for text, style, _ in line.render(self.app.console)
        ]
        strip = Strip(segments).crop(left, left + width).adjust_cell_length(width, self.background_style)
        if number == self.cursor and self.cursor_style is not None:
            strip = Strip(
                [Segment(each.text, (each.style or self.background_style) + self.cursor_style) for each in strip]
            )
        return strip


def _wrapped(line: Text, width: int, console: Console) -> list[Text]:
    """Return a line wrapped to this width; the lines after the first are indented like it."""
    if line.cell_len <= width:
        return [line]
    indent = min(len(line.plain) - len(line.plain.lstrip(" ")), width // 2)
    parts = list(line[indent:].wrap(console, width - indent)) or [Text("")]
    for part in parts:
        part.pad_left(indent)
    return parts
