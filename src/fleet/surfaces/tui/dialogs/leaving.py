"""Leave a dialog or a page once, also when a second key comes while it closes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from textual.screen import Screen

T = TypeVar("T")


def leave(screen: Screen[T], result: T | None = None) -> None:
    """Close a screen with a result; nothing when it is closed already, or something stands on top of it."""
    if screen.is_current:
        screen.dismiss(result)
