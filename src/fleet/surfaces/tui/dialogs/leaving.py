"""Close a dialog or page once, even when a second key arrives while it closes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from textual.screen import Screen

T = TypeVar("T")


def leave(screen: Screen[T], result: T | None = None) -> None:
    """Close a dialog or page with a result. Do nothing when it is closed already, or another screen is above it."""
    if screen.is_current:
        screen.dismiss(result)
