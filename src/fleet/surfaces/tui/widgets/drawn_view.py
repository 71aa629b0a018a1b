"""DrawnView: a scrolling view that draws its own lines, which is faster than Textual's own way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.scroll_view import ScrollView

if TYPE_CHECKING:
    from rich.style import Style
    from textual.geometry import Size


class DrawnView(ScrollView, can_focus=False):
    """The base of the row list and the line view: a scrolling view that draws its own lines."""

    _background_style: Style | None = None

    @property
    def background_style(self) -> Style:
        """The style of the background. It is computed once and kept, because Textual would compute it for each line."""
        if self._background_style is None:
            self._background_style = self.rich_style
        return self._background_style

    def extend(self, size: Size) -> None:
        """Set the size of the content to scroll.

        The screen is laid out again only when a scroll bar appears or disappears.
        """
        if size != self.virtual_size:
            self.set_reactive(DrawnView.virtual_size, size)
            self._scroll_update(size)

    def notify_style_update(self) -> None:
        """Forget the kept background style when a style has changed."""
        self._background_style = None
        super().notify_style_update()
