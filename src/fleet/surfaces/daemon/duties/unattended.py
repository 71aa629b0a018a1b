"""Look after agents in projects that have no coordinator: failed turns, usage limits, messages, screens without a hook.

Nothing is started, merged, asked to exit or killed there: that is a coordinator's business, or a person's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.surfaces.daemon.duties.duty import Duty

if TYPE_CHECKING:
    from fleet.api.fleet import Fleet

_LOOK = 10.0


class Unattended(Duty):
    """Do for agents without a coordinator what a tick does for the others, as far as it starts and ends nobody."""

    name = "agents without a coordinator"
    on_change = True
    apart = 2.0

    def run(self, fleet: Fleet) -> list[str]:
        """Look after the agents of each project without a coordinator. Return one line for each thing done."""
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
