"""DrawnView: a view that draws its own lines, with the style of its ground computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.scroll_view import ScrollView

if TYPE_CHECKING:
    from rich.style import Style


class DrawnView(ScrollView, can_focus=False):
    """What the list of rows and the view of lines have in common."""

    _ground: Style | None = None

    @property
    def ground(self) -> Style:
        """The style of the background. Textual would compute it anew for each line."""
        if self._ground is None:
            self._ground = self.rich_style
        return self._ground

    def notify_style_update(self) -> None:
        """Forget the style of the ground when a style has changed."""
        self._ground = None
        super().notify_style_update()
