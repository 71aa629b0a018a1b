"""coord_prompt_inbox: the file with the prompt of a dispatch of any kind, not only of a coordinator."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim, Look
    from fleet.resources.kind import Order
    from fleet.world.world import World


class CoordPromptInbox:
    """The prompt file inbox/<dispatch id>.md in the home."""

    name = "coord_prompt_inbox"
    klass = "delivery"
    by_program = False

    def name_for(self, order: Order, _world: World) -> str:
        """Return the path of the prompt file, relative to the home."""
        return paths.prompt(order.dispatch)

    def data_for(self, _order: Order, _world: World) -> dict[str, Any]:
        """Return {"preserve": False}. With True, the file is archived instead of deleted when it is released."""
        return {"preserve": False}

    def look(self, claim: Claim, world: World) -> Look:
        """Return whether the prompt file is at the claim's path.

        `ours` for a regular file, `foreign` for anything else, `absent` for nothing, `unknown` when looking fails.
        """
        return look_at_file(f"{world.home}/{claim.name}")

    def acquire(self, claim: Claim, order: Order, world: World, _lock: int) -> None:
        """Write the prompt file, atomically and durably."""
        world.files.publish(claim.name, order.prompt.encode())

    def release(self, claim: Claim, world: World, _lock: int) -> None:
        """Delete the prompt file, or move it to the archive when the claim says `preserve`."""
        if claim.data.get("preserve"):
            world.files.move(claim.name, f"{paths.INBOX_ARCHIVE}/{os.path.basename(claim.name)}")
        else:
            world.files.unlink(claim.name)


def look_at_file(path: str) -> Look:
    """Return what is at a path that only fleet uses.

    `ours` for a regular file, `foreign` for anything else, `absent` for nothing, `unknown` when it cannot be looked at.
    """
    try:
        os.lstat(path)
    except FileNotFoundError:
        return "absent"
    except OSError:
        return "unknown"
    return "ours" if os.path.isfile(path) and not os.path.islink(path) else "foreign"
