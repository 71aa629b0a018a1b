"""Tick for one project whose coordinator is a duty of this daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.loop import NewLines
from fleet.model.text.times import SECOND, duration
from fleet.surfaces.daemon.duties.duty import Duty, DutyOver

if TYPE_CHECKING:
    from fleet.api.fleet import Fleet
    from fleet.model.results.coord import Ticked

# Seconds between ticks of a project in which nobody works and nothing waits. A change still begins a tick at once.
_IDLE = 60.0


class Ticks(Duty):
    """Duty that ticks for one project's coordinator.

    It ends when that coordinator has lost its seat, was stopped or was killed.
    """

    on_change = True
    apart = 0.3

    def __init__(self, project: str, holder: str) -> None:
        self.project = project
        self.holder = holder
        self.name = f"coordinator of {project}"
        self._new = NewLines()

    def run(self, fleet: Fleet) -> list[str]:
        """Do one tick for the coordinator, and write what is new into the coordinator's log.

        Returns the same lines for the daemon's log: those that the previous tick did not have. Raises DutyOver when the
        coordinator has lost its seat or has ended, or the project is gone.
        """
        try:
            ticked = fleet.coord.tick_held(self.project, self.holder)
        except (errors.NotSeated, errors.SpeakerEnded, errors.NoSuchProject) as error:
            raise DutyOver(str(error)) from error
        self.every = _seconds_to_next(ticked, duration(fleet.settings.read()["tick_every"].value) / SECOND)
        lines = self._new.of(ticked)
        if lines:
            fleet.coord.write_log(self.holder, lines)
        return lines

    def remark(self) -> str:
        """Return the dispatch id of the coordinator that this duty ticks for."""
        return self.holder


def _seconds_to_next(ticked: Ticked, usual: float) -> float:
    """Return the seconds until the next tick if nothing changes: `usual` while there is work, else at least 60."""
    now = ticked.next
    is_busy = now.working or now.ready or now.to_review or now.to_merge or now.trouble or now.handoffs
    return usual if is_busy or ticked.troubles else max(usual, _IDLE)
