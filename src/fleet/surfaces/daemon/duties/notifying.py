"""Send a person the notices that are due: what needs them, and what failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.surfaces.daemon.duties.duty import Duty

if TYPE_CHECKING:
    from fleet.api.fleet import Fleet


class Notifying(Duty):
    """Duty that sends due notices.

    A committed operation begins a round. What only an agent's screen shows is noticed within 30 seconds.
    """

    name = "notify"
    every = 30.0
    apart = 3.0
    on_change = True
    keeps_open = True

    def run(self, fleet: Fleet) -> list[str]:
        """Send the notices that are due. Returns a line for the daemon's log about each one sent."""
        return fleet.notices.send_due()
