"""Close a dialog or page once, and do nothing late to one that was closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.screen import Screen

T = TypeVar("T")

# The keys that leave every dialog and page. Some have more keys for that.
LEAVING = frozenset({"escape", "ctrl+c"})


def leave(screen: Screen[T], result: T | None = None) -> None:
    """Close a dialog or page with a result. Do nothing when it is closed already, or another screen is above it."""
    if screen.is_current:
        screen.dismiss(result)


def is_open(screen: Screen[T]) -> bool:
    """Whether a dialog or page is still shown: it was not closed, and the TUI is not ending.

    A page may be closed before it was drawn, and what it waits for may arrive after it was closed: its widgets are gone
    then. Textual's `is_mounted` remains true.
    """
    return screen.is_attached and screen in screen.app.screen_stack


def draw_soon(screen: Screen[T], draw: Callable[[], None]) -> None:
    """Call `draw` when the sizes of a dialog or page are known, unless it is closed by then."""
    screen.call_after_refresh(lambda: draw() if is_open(screen) else None)
