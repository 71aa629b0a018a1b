"""Hold the seats of fleet's own coordinators: tick for this daemon's seats, and take over those of a dead daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.agents.coord import ENGINE
from fleet.api.remote.lifecycle import SEATS_DUTY
from fleet.surfaces.daemon.duties.duty import Duty, NotNow
from fleet.surfaces.daemon.duties.schedule import wait_after_failures
from fleet.verbs.dispatch.plan import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event

    from fleet.api.fleet import Fleet


# Seconds between rounds while every seat is held.
_EVERY = 60.0


class Coordinators(Duty):
    """Duty that runs the ticks of every seat that this daemon holds, and takes over the seats of dead daemons."""

    name = SEATS_DUTY
    every = _EVERY
    apart = 0.3
    on_change = True

    def __init__(self, tick_for: Callable[[dict[str, str]], None], after: Event) -> None:
        # Starts the ticks of the coordinators that it is given (dispatch ids by project), unless they tick already.
        self._tick_for = tick_for
        # Set once ResumeOnBoot has run: work that a reboot interrupted comes before new work.
        self._after = after
        # By project: why its seat could not be taken over at the last try.
        self._failed: dict[str, str] = {}
        self._rounds_unheld = 0

    def run(self, fleet: Fleet) -> list[str]:
        """Take over the seats of dead daemons, and start the ticks of every seat that this daemon holds.

        Returns a line for the daemon's log about each seat that was taken over, or that could not be, when the reason is
        not the one of the last try. Raises NotNow before ResumeOnBoot has run.
        """
        if not self._after.is_set():
            raise NotNow
        lost = fleet.coord.lost()
        self._failed = {project: why for project, why in self._failed.items() if project in lost}
        lines = [line for project, ident in lost.items() if (line := self._refill_seat(fleet, project, ident))]
        self._tick_for(fleet.coord.held())
        self.every = self._seconds_to_next(fleet)
        return lines

    def _seconds_to_next(self, fleet: Fleet) -> float:
        """Return the seconds until the next round: 60 when every seat is held; else 1, doubled each round, at most 60.

        A seat may be free again soon: its old daemon is about to exit, or another process holds the gate for a moment.
        """
        self._rounds_unheld = self._rounds_unheld + 1 if fleet.coord.unheld() else 0
        return wait_after_failures(self._rounds_unheld) if self._rounds_unheld else _EVERY

    def _refill_seat(self, fleet: Fleet, project: str, ident: str) -> str:
        """Start a new coordinator in the seat that a dead daemon held as dispatch `ident`.

        Returns a line for the daemon's log; "" when there is nothing new to say.
        """
        wanted = Wanted(project=project, slug=None, kind="coord", engine=ENGINE)
        try:
            seated = fleet.coord.start(wanted, after=ident)
        except errors.NotSeated:
            return ""  # it was stopped or replaced meanwhile
        except errors.FleetError as error:
            if self._failed.get(project) == str(error):
                return ""
            self._failed[project] = str(error)
            return f"cannot take the seat of {project} anew: {error}"
        self._failed.pop(project, None)
        return f"took the seat of {project} anew as {seated.id}: the daemon that held it as {ident} has died"

    def remark(self) -> str | None:
        """Return which seats could not be taken over, and why; None when all were."""
        return "; ".join(f"{project}: {why}" for project, why in self._failed.items()) or None
