"""coord_prompt_inbox: the prompt of a dispatch, in a file that is there whole or not at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim, Look
    from fleet.resources.kind import Order
    from fleet.world.world import World


class CoordPromptInbox:
    """inbox/<id>.md"""

    name = "coord_prompt_inbox"
    klass = "delivery"
    by_program = False

    def name_for(self, order: Order, _world: World) -> str:
        """In the home's inbox."""
        return paths.prompt(order.dispatch)

    def data_for(self, _order: Order, _world: World) -> dict[str, Any]:
        """Nothing more."""
        return {"preserve": False}

    def look(self, claim: Claim, world: World) -> Look:
        """A file of that name in the inbox is ours, because its claim says so."""
        path = f"{world.home}/{claim.name}"
        try:
            os.lstat(path)
        except FileNotFoundError:
            return "absent"
        except OSError:
            return "unknown"
        return "ours" if os.path.isfile(path) and not os.path.islink(path) else "foreign"

    def acquire(self, claim: Claim, order: Order, world: World, _lock: int) -> None:
        """Publish it, atomically and durably."""
        world.files.publish(claim.name, order.prompt.encode())

    def release(self, claim: Claim, world: World, _lock: int) -> None:
        """Unlink it, or keep it in the archive where that was asked for."""
        if claim.data.get("preserve"):
            world.files.move(claim.name, f"{paths.INBOX_ARCHIVE}/{os.path.basename(claim.name)}")
        else:
            world.files.unlink(claim.name)
