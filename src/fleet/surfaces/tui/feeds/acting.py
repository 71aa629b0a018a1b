"""Acts: run what the person has asked for in a thread of its own, with its own `Fleet`, while the TUI goes on."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

from fleet.api.fleet import Fleet
from fleet.surfaces.tui.feeds.loader import describe

if TYPE_CHECKING:
    from collections.abc import Callable

    T = TypeVar("T")


class Acts:
    """The acts that run in the background, by name. The same act is not started twice at once."""

    def __init__(self, home: str, *, actor: str | None, post: Callable[[Callable[[], None]], None]) -> None:
        self._home = home
        self._actor = actor
        # Calls a function in the thread of the screen.
        self._post = post
        self.running: dict[str, str] = {}

    def start(
        self,
        name: str,
        says: str,
        act: Callable[[Fleet], T],
        *,
        done: Callable[[T], None],
        failed: Callable[[str], None],
    ) -> bool:
        """Run `act` in a thread, then `done` with its result or `failed` with the reason in the thread of the screen.

        `says` tells the person what is done. Returns False when an act of this `name` runs already.
        """
        if name in self.running:
            return False
        self.running[name] = says

        def run() -> None:
            try:
                with Fleet.open(self._home, actor=self._actor, make=False) as fleet:
                    result = act(fleet)
            except Exception as error:  # noqa: BLE001 - the person is told
                why = describe(error)
                self._post(lambda: self._end(name, lambda: failed(why)))
            else:
                self._post(lambda: self._end(name, lambda: done(result)))

        threading.Thread(target=run, name=f"act {name}", daemon=True).start()
        return True

    def _end(self, name: str, then: Callable[[], None]) -> None:
        """Remove the act from the running ones, then call `then`."""
        self.running.pop(name, None)
        then()
