"""cgroup: the control group of one dispatch, which contains all descendants of its agent; on systems that have them."""

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
    """A control group below the tmux server's, or a systemd scope.

    `fleet launch` joins it before it becomes the agent. systemd creates a scope when a process joins it and removes it
    when it is empty; before and after, the scope is absent.
    """

    name = "cgroup"
    klass = "exclusive"
    by_program = False

    def is_available(self, order: Order, world: World) -> bool:
        """Return whether a control group can be created for a dispatch on this system. A dispatch works without one, too."""
        return self.name_for(order, world) != ""

    def name_for(self, order: Order, world: World) -> str:
        """Return the path of the control group; "" where none can be created, or when the order names no tmux server."""
        server = Identity.parse(order.server)
        return (world.cgroups.place_for(order.dispatch, server.pid) or "") if server is not None else ""

    def data_for(self, _order: Order, _world: World) -> dict[str, Any]:
        """Return no data; `fleet launch` later records which process joined the control group."""
        return {}

    def look(self, claim: Claim, _world: World) -> Look:
        """Return `ours` if the control group exists, else `absent`; never `foreign`: its name contains home and dispatch."""
        return "ours" if os.path.isdir(claim.name) else "absent"

    def acquire(self, claim: Claim, _order: Order, world: World, _lock: int) -> None:
        """Create the control group; do nothing for a scope, which systemd creates."""
        world.cgroups.make(claim.name)

    def release(self, claim: Claim, world: World, _lock: int) -> None:
        """Remove the control group; raise Refused while a process is in it."""
        try:
            world.cgroups.remove(claim.name)
        except OSError:
            inside = ", ".join(map(str, world.cgroups.members(claim.name)))
            raise errors.Refused(what=f"{claim.name} is not empty: {inside or 'an unknown process'} is in it") from None
