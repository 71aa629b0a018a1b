"""Keep the home small, at most once a day: archive old operations, remove old journals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.model.text.times import DAY, SECOND
from fleet.surfaces.daemon.duties.duty import Duty

if TYPE_CHECKING:
    from fleet.api.fleet import Fleet

# The seconds of a day.
_DAY = DAY / SECOND


class Upkeep(Duty):
    """Duty that archives old operations and removes old journals once a day by the wall clock, also across restarts."""

    name = "upkeep"
    every = _DAY
    delay = 120.0

    def run(self, fleet: Fleet) -> list[str]:
        """Archive operations and remove journals, unless that was done less than a day ago or the clock is doubted.

        Returns lines for the daemon's log: what was archived or removed, or why nothing was removed.
        """
        now, last = fleet.clock.now(), fleet.operations.last_upkeep()
        left = (DAY - (now - last)) / SECOND if last is not None and last <= now else 0.0
        if left > 0:
            self.every = left
            return []
        self.every = _DAY
        if why := fleet.operations.why_clock_doubted():
            return [f"removed nothing: {why}"]
        rotated, pruned = fleet.operations.rotate(), fleet.sweep.prune_archive()
        fleet.operations.note_upkeep(now)
        lines = [f"archived {rotated.moved} operations"] if rotated.moved else []
        return lines + ([f"removed {pruned.pruned} old journals"] if pruned.pruned else [])
