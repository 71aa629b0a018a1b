"""DrawnView: a view that draws its own lines, and spares Textual what it would do for each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.scroll_view import ScrollView

if TYPE_CHECKING:
    from rich.style import Style
    from textual.geometry import Size


class DrawnView(ScrollView, can_focus=False):
    """What the list of rows and the view of lines have in common."""

    _ground: Style | None = None

    @property
    def ground(self) -> Style:
        """The style of the background. Textual would compute it anew for each line."""
        if self._ground is None:
            self._ground = self.rich_style
        return self._ground

    def extend(self, size: Size) -> None:
        """Set the size of what can be scrolled. The screen is laid out again only when a scroll bar comes or goes."""
        if size != self.virtual_size:
            self.set_reactive(DrawnView.virtual_size, size)
            self._scroll_update(size)

    def notify_style_update(self) -> None:
        """Forget the style of the ground when a style has changed."""
        self._ground = None
        super().notify_style_update()
