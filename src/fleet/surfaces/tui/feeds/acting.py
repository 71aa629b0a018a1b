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
    """Runs acts in the background. Two acts with the same name never run at the same time.

    `running` maps the name of each running act to what the person is told of it.
    """

    def __init__(self, home: str, *, actor: str | None, post: Callable[[Callable[[], None]], None]) -> None:
        self._home = home
        self._actor = actor
        # Calls a function in the thread of the screen.
        self._post = post
        # What the person is told of each act that runs, by its name.
        self.running: dict[str, str] = {}
        # The acts that wait for one of the same name: their names, what the person is told of them, and how they start.
        self._waiting: list[tuple[str, str, Callable[[], None]]] = []

    @property
    def unfinished(self) -> list[str]:
        """What the person is told of the acts that run, and of those that wait for another one to end."""
        return [*self.running.values(), *self.waiting]

    @property
    def waiting(self) -> list[str]:
        """What the person is told of the acts that have not begun, because they wait for one of the same name."""
        return [says for _name, says, _start in self._waiting]

    def start(
        self,
        name: str,
        says: str,
        act: Callable[[Fleet], T],
        *,
        done: Callable[[T], None],
        failed: Callable[[str], None],
        queue: bool = False,
    ) -> bool:
        """Run `act` in a thread; then, in the thread of the screen, call `done` with its result or `failed` with the reason.

        `says` tells the person what is done. When an act of the same `name` runs already: with `queue`, run this one
        after it; without `queue`, do not run this one, and return False. Returns True in all other cases.
        """
        if name in self.running and not queue:
            return False

        def run() -> None:
            """Run the act, and post its result or the reason why it failed. Called in the act's thread."""
            try:
                with Fleet.open(self._home, actor=self._actor, make=False) as fleet:
                    result = act(fleet)
            except Exception as error:  # noqa: BLE001 - the person is told
                why = describe(error)
                self._post(lambda: self._end(name, lambda: failed(why)))
            else:
                self._post(lambda: self._end(name, lambda: done(result)))

        def start() -> None:
            """Count the act as running, and start its thread."""
            self.running[name] = says
            threading.Thread(target=run, name=f"act {name}", daemon=True).start()

        if name in self.running:
            self._waiting.append((name, says, start))
        else:
            start()
        return True

    def _end(self, name: str, then: Callable[[], None]) -> None:
        """Remove an act from the running ones, start the next act that waits for its name, then call `then`."""
        self.running.pop(name, None)
        following = next((each for each in self._waiting if each[0] == name), None)
        if following is not None:
            self._waiting.remove(following)
            following[2]()
        then()
