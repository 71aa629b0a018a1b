"""The loop of fleet's own coordinator (`fleet coord run`): it ticks on every change and at intervals.

It holds nothing open between two ticks, and goes on after a failed tick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.text.times import SECOND, duration
from fleet.world.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.results.coord import Ticked

_POLL = 0.3
_AFTER_TROUBLE = 5.0


class NewLines:
    """Remembers the lines of the last tick, so that only new ones are printed: a tick repeats what it still cannot do."""

    def __init__(self) -> None:
        self._before: list[str] = []

    def of(self, ticked: Ticked) -> list[str]:
        """Return the lines about what this tick did and what failed, without the lines that the previous tick had too."""
        now = [*ticked.done, *(f"trouble: {line}" for line in ticked.troubles)]
        new = [line for line in now if line not in self._before]
        self._before = now
        return new


class Loop:
    """The loop of one project's coordinator. It prints with `say`."""

    def __init__(self, project: str, say: Callable[[str], None]) -> None:
        self._project = project
        self._say = say
        self._clock = Clock()
        self._seen = -1
        self._next = 0.0
        self._new = NewLines()

    def run(self) -> None:
        """Tick until this coordinator has lost the seat, or the home or its store is gone or has been replaced."""
        while self._tick_if_due():
            self._clock.wait(_POLL)

    def _tick_if_due(self) -> bool:
        """Tick if an operation was committed, or the time in the setting `tick_every` has passed since the last tick.

        Returns False when this coordinator has to end, for one of the reasons that `run` names. A tick that failed in
        another way is printed; the next one is due 5 seconds later.
        """
        try:
            with Fleet.open() as fleet:
                newest = fleet.operations.newest()
                if newest == self._seen and self._clock.ticks() < self._next:
                    return True
                self._next = self._clock.ticks() + duration(fleet.settings.read()["tick_every"].value) / SECOND
                self._seen = newest
                self._print_tick(fleet, fleet.coord.tick(self._project))
        except (errors.NotSeated, errors.StoreReplaced, errors.StoreGone, errors.HomeMoved, errors.HomeCopied) as error:
            self._say(f"{error}; this coordinator ends")
            return False
        except errors.TickInProgress:
            self._seen = -1
        except Exception as error:  # noqa: BLE001 - the next tick may succeed
            self._say(f"this tick failed, the next one tries again: {type(error).__name__}: {error}")
            self._next = self._clock.ticks() + _AFTER_TROUBLE
        return True

    def _print_tick(self, fleet: Fleet, ticked: Ticked) -> None:
        """Print the lines of a tick that the tick before it did not have.

        Then print the messages that were sent to the coordinator, and acknowledge them.
        """
        for line in self._new.of(ticked):
            self._say(line)
        for message in ticked.messages:
            self._say(f"message {message.id} from {message.sender}: {message.text}")
        if ticked.messages:
            fleet.messages.acknowledge([message.id for message in ticked.messages])
