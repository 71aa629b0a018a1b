"""Keyboard: gives what the person types to the screen, one key or paste after another."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from textual import events
    from textual.app import App
    from textual.dom import DOMNode

    Typed: TypeAlias = events.Key | events.Paste

# A key passes from the focused widget up to the app; the messages that its act posts go the same way after it.
_WAYS_UP = 2
# Seconds to wait for a widget that does not answer before the next key is given all the same.
_PATIENCE = 2.0


class Keyboard:
    """Gives keys and pastes to the screen in their order. Each waits until the one before it has had its effect.

    Keys may arrive faster than a dialog opens: a slow connection brings several at once. What the person types after
    the key that opens a dialog is meant for the dialog, not for the rows below it.

    `give` passes a key or paste on to the widget that has the focus now.
    """

    def __init__(self, app: App[None], give: Callable[[Typed], Awaitable[None]]) -> None:
        self._app = app
        self._give = give
        self._typed: asyncio.Queue[Typed] = asyncio.Queue()

    def take(self, typed: Typed) -> None:
        """Take a key or paste; it is given to the screen after those that were taken before it."""
        self._typed.put_nowait(typed)

    async def run(self) -> None:
        """Give keys and pastes to the screen, each after the effect of the one before it, until this is cancelled."""
        while True:
            typed = await self._typed.get()
            reached = list((self._app.focused or self._app.screen).ancestors_with_self)
            await self._give(typed)
            for _ in range(_WAYS_UP):
                await _handle_all(reached)
            await _handle_all(self._app.screen.ancestors_with_self)  # a dialog may have opened


async def _handle_all(nodes: Iterable[DOMNode]) -> None:
    """Wait until each node has handled the messages that it has now, and a screen that opens has set its focus.

    Give up when one node takes longer than 2 seconds.
    """
    for node in nodes:
        handled = asyncio.Event()
        if node.call_later(handled.set):
            try:
                await asyncio.wait_for(handled.wait(), _PATIENCE)
            except TimeoutError:
                return
