"""The process beside an agent that coordinates: it wakes the agent on changes and at intervals, and ends with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.text.times import SECOND, duration
from fleet.verbs.coord import wake
from fleet.world.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.world.files.gates import Gate

_POLL = 0.5
_AFTER_TROUBLE = 5.0
# How long to wait for the gate: who only looks whether it is free holds it for a moment.
_GATE_WAIT = 2.0
# Who writes in the operations that this process commits.
ACTOR = "fleet-watch"
# The home, its store or the project is gone or has been replaced: nothing is left to watch.
_GONE = (errors.StoreReplaced, errors.StoreGone, errors.HomeMoved, errors.HomeCopied, errors.NoSuchProject)


class Watch:
    """The watch of one project's coordinator."""

    def __init__(self, project: str, say: Callable[[str], None]) -> None:
        self._project = project
        self._say = say
        self._clock = Clock()
        self._seen = -1
        self._next = 0.0

    def run(self) -> None:
        """Wake the coordinator until nobody has to be woken. Return at once while another watch of the project runs."""
        while self._is_needed():
            with Fleet.open(actor=ACTOR) as fleet:
                gate = wake.watch_gate(fleet.context, self._project)
            if not self._watch_at_gate(gate):
                return

    def _is_needed(self) -> bool:
        """Whether an agent coordinates. Asked again after the gate was given: a new one may have found it held."""
        with Fleet.open(actor=ACTOR) as fleet:
            return bool(wake.watched_coordinators(fleet.context, self._project))

    def _watch_at_gate(self, gate: Gate) -> bool:
        """Watch while holding the gate. Return False when another watch holds it, or when the home or project is gone."""
        try:
            gate.take(wait=_GATE_WAIT)
        except errors.GateHeld as error:
            self._say(f"{error}: it wakes the coordinator of {self._project}")
            return False
        try:
            while self._look_if_due():
                self._clock.wait(_POLL)
        except _GONE as error:
            self._say(f"{error}; this process ends")
            return False
        finally:
            gate.give()
        return True

    def _look_if_due(self) -> bool:
        """Look if something changed or the interval has passed. Return False when there is nobody to wake."""
        with Fleet.open(actor=ACTOR) as fleet:
            newest = fleet.operations.newest()
            if newest == self._seen and self._clock.ticks() < self._next:
                return True
            self._seen = newest
            return self._look(fleet)

    def _look(self, fleet: Fleet) -> bool:
        """Look once. Print and record what failed: the next look tries again. Return False when there is nobody to wake."""
        try:
            self._next = self._clock.ticks() + duration(fleet.context.setting("tick_every")) / SECOND
            lines = fleet.coord.watch(self._project)
            wake.note_trouble(fleet.context, self._project, None)
        except _GONE:
            raise
        except errors.NotSeated:
            return True  # the seat has changed hands in this moment: the next look sees who has it
        except Exception as error:  # noqa: BLE001 - the next look may succeed
            self._say(f"the coordinator cannot be woken: {type(error).__name__}: {error}")
            wake.note_trouble(fleet.context, self._project, f"{type(error).__name__}: {error}")
            self._next = self._clock.ticks() + _AFTER_TROUBLE
            return True
        for line in lines or ():
            self._say(line)
        return lines is not None
