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

    def __init__(self, project: str, say: Callable[[str], None], clock: Clock | None = None) -> None:
        self._project = project
        self._say = say
        self._clock = clock or Clock()
        self._seen = -1
        self._next = 0.0
        self._trouble: str | None = None
        self._gate: Gate | None = None
        self._is_over = False

    def run(self) -> None:
        """Wake the coordinator until nobody has to be woken. Return at once while another watch of the project runs."""
        while not self._is_over and self._persist(self._begin):
            try:
                while self._persist(self._look_if_due):
                    self._clock.wait(_POLL)
            finally:
                self._end()

    def _persist(self, act: Callable[[], bool]) -> bool:
        """Do something, again and again while it fails, and return its answer. False when nothing is left to watch."""
        while True:
            try:
                return act()
            except _GONE as error:
                self._say(f"{error}; this process ends")
                self._is_over = True
                return False
            except Exception as error:  # noqa: BLE001 - the next try may succeed
                self._meet(f"{type(error).__name__}: {error}")

    def _meet(self, trouble: str) -> None:
        """Print a trouble, once, and wait. It is recorded before the next look: it may be the store that fails."""
        if trouble != self._trouble:
            self._say(f"the coordinator cannot be woken: {trouble}")
        self._trouble, self._seen = trouble, -1
        self._clock.wait(_AFTER_TROUBLE)

    def _begin(self) -> bool:
        """Take the gate. False when another watch holds it, or when no agent coordinates.

        Asked again after the gate was given: a new coordinator may have found it held.
        """
        with Fleet.open(actor=ACTOR) as fleet:
            if not wake.watched_coordinators(fleet.context, self._project):
                return False
            gate = wake.watch_gate(fleet.context, self._project)
        try:
            gate.take(wait=_GATE_WAIT)
        except errors.GateHeld as error:
            self._say(f"{error}: it wakes the coordinator of {self._project}")
            return False
        self._gate = gate
        return True

    def _end(self) -> None:
        if self._gate is not None:
            self._gate.give()

    def _look_if_due(self) -> bool:
        """Look if something changed or the interval has passed. Return False when there is nobody to wake."""
        with Fleet.open(actor=ACTOR) as fleet:
            newest = fleet.operations.newest()
            if newest == self._seen and self._clock.ticks() < self._next:
                return True
            self._next = self._clock.ticks() + duration(fleet.context.setting("tick_every")) / SECOND
            self._seen = newest
            return self._look(fleet)

    def _look(self, fleet: Fleet) -> bool:
        """Look once, and record what failed since the last look that succeeded. Return False when there is nobody to wake."""
        if self._trouble is not None:
            wake.note_trouble(fleet.context, self._project, self._trouble)
        try:
            lines = fleet.coord.watch(self._project)
        except errors.NotSeated:
            return True  # the seat has changed hands in this moment: the next look sees who has it
        wake.note_trouble(fleet.context, self._project, None)
        self._trouble = None
        for line in lines or ():
            self._say(line)
        return lines is not None
