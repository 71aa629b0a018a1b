"""Look after agents in projects without a coordinator: failed turns, usage limits, messages.

The screens of agents whose engine reports no failed turns or limits by a hook are read for them.

Nothing is started, merged, asked to exit or killed there: only a coordinator or a person does that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.surfaces.daemon.duties.duty import Duty

if TYPE_CHECKING:
    from fleet.api.fleet import Fleet

# Seconds between rounds while a project with agents has no coordinator.
_LOOK = 10.0


class Unattended(Duty):
    """Duty that does for agents without a coordinator what a tick would do, except starting and ending agents."""

    name = "agents without a coordinator"
    on_change = True
    apart = 2.0

    def run(self, fleet: Fleet) -> list[str]:
        """Look after the agents of each project without a coordinator.

        Returns a line for the daemon's log about each thing done. When a project fails, go on with the others, and
        raise FleetError at the end.
        """
        projects = fleet.agents.unattended()
        self.every = _LOOK if projects else None
        lines, failures = [], []
        for project in projects:
            try:
                lines += fleet.agents.look_after(project)
            except errors.FleetError as error:
                failures.append(f"{project}: {error}")
        if failures:
            raise errors.FleetError(what="; ".join(failures))
        return lines
