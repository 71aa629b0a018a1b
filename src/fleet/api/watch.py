"""The process that wakes an agent that coordinates a project, on changes and at intervals, while it has the seat."""

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
# Seconds to wait for the gate: a process that only checks whether it is free holds it for a moment.
_GATE_WAIT = 2.0
# The actor in the operations that this process commits.
ACTOR = "fleet-watch"
# The home, its store or the project is gone or has been replaced: nothing is left to watch.
_GONE = (errors.StoreReplaced, errors.StoreGone, errors.HomeMoved, errors.HomeCopied, errors.NoSuchProject)


class Watch:
    """Wakes the agent that coordinates one project, until no agent coordinates it. It prints with `say`."""

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
        """Wake the project's coordinator until no agent coordinates it, or the home, its store or the project is gone.

        Do nothing when another watch of the project runs.
        """
        while not self._is_over and self._persist(self._begin):
            try:
                while self._persist(self._look_if_due):
                    self._clock.wait(_POLL)
            finally:
                self._end()

    def _persist(self, act: Callable[[], bool]) -> bool:
        """Call `act` again and again until it raises no error, and return its answer.

        Returns False when the home, the store or the project is gone.
        """
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
        """Remember why the coordinator could not be woken, print it when it is new, and wait.

        The next `_look` records the reason in the store; now the store itself may be what fails.
        """
        if trouble != self._trouble:
            self._say(f"the coordinator cannot be woken: {trouble}")
        self._trouble, self._seen = trouble, -1
        self._clock.wait(_AFTER_TROUBLE)

    def _begin(self) -> bool:
        """Take the project's watch gate, and return whether it was taken.

        It is not taken when another watch holds it, or when no agent coordinates the project. `run` calls this once
        more after it has given the gate back, because a coordinator that began meanwhile saw the gate held and started
        no watch.
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
        """Give the watch gate back."""
        if self._gate is not None:
            self._gate.give()

    def _look_if_due(self) -> bool:
        """Look at the coordinator if an operation was committed, or the time in the setting `tick_every` has passed.

        Returns False when there is nobody to wake.
        """
        with Fleet.open(actor=ACTOR) as fleet:
            newest = fleet.operations.newest()
            if newest == self._seen and self._clock.ticks() < self._next:
                return True
            self._next = self._clock.ticks() + duration(fleet.context.settings().tick_every) / SECOND
            self._seen = newest
            return self._look(fleet)

    def _look(self, fleet: Fleet) -> bool:
        """Wake the coordinator if there is news for it. First record in the store why the last try failed, if it did.

        Returns False when there is nobody to wake.
        """
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
