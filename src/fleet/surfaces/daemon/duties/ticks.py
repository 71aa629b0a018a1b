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

# How often a project is looked at in which nobody works and nothing waits. Changes are noticed at once all the same.
_IDLE = 60.0


class Ticks(Duty):
    """The ticks of one coordinator. They end when it has lost its seat, was stopped, or was killed."""

    on_change = True
    apart = 0.3

    def __init__(self, project: str, holder: str) -> None:
        self.project = project
        self.holder = holder
        self.name = f"coordinator of {project}"
        self._new = NewLines()

    def run(self, fleet: Fleet) -> list[str]:
        """Do one tick. Return what is new in it."""
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
        """Return the id of the coordinator for which this duty ticks."""
        return self.holder


def _seconds_to_next(ticked: Ticked, usual: float) -> float:
    """Return when to tick again if nothing changes: as the setting says, and less often where there is nothing to do."""
    now = ticked.next
    is_busy = now.working or now.ready or now.to_review or now.to_merge or now.trouble or now.handoffs
    return usual if is_busy or ticked.troubles else max(usual, _IDLE)
