"""cgroup: the control group of one dispatch, where the system has it. It lists whoever descends from the agent."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fleet import errors
from fleet.model.identity import Identity

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim, Look
    from fleet.resources.kind import Order
    from fleet.world.world import World


class Cgroup:
    """A folder below the group of the tmux server, or a scope of systemd's. `fleet launch` joins it before it becomes the agent.

    A scope is made when it is joined, and systemd removes it when it is empty: before and after it is absent.
    """

    name = "cgroup"
    klass = "exclusive"
    by_program = False

    def is_available(self, order: Order, world: World) -> bool:
        """Whether one can be made here. Nothing fails where it cannot."""
        return self.name_for(order, world) != ""

    def name_for(self, order: Order, world: World) -> str:
        """Its path; empty where there can be none."""
        server = Identity.parse(order.server)
        return (world.cgroups.place_for(order.dispatch, server.pid) or "") if server is not None else ""

    def data_for(self, _order: Order, _world: World) -> dict[str, Any]:
        """Nothing yet; `fleet launch` adds who has joined it."""
        return {}

    def look(self, claim: Claim, _world: World) -> Look:
        """Its name carries home and dispatch: nobody else makes such a one."""
        return "ours" if os.path.isdir(claim.name) else "absent"

    def acquire(self, claim: Claim, _order: Order, world: World, _lock: int) -> None:
        """Make it, unless it is a scope."""
        world.cgroups.make(claim.name)

    def release(self, claim: Claim, world: World, _lock: int) -> None:
        """Remove it, when nobody is in it."""
        try:
            world.cgroups.remove(claim.name)
        except OSError:
            inside = ", ".join(map(str, world.cgroups.members(claim.name)))
            raise errors.Refused(what=f"{claim.name} is not empty: {inside or 'somebody'} is in it") from None
