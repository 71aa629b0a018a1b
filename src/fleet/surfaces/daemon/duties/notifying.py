"""Tell the person what needs them and what failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.surfaces.daemon.duties.duty import Duty

if TYPE_CHECKING:
    from fleet.api.fleet import Fleet


class Notifying(Duty):
    """Send notices that are due. Changes begin a round; what only a screen shows is seen at the interval."""

    name = "notify"
    every = 30.0
    apart = 3.0
    on_change = True
    keeps_open = True

    def run(self, fleet: Fleet) -> list[str]:
        """Send what is due; return a line for each message."""
        return fleet.notices.send_due()
