"""agent_environment: the file with the variables that an agent inherits from the person or process that asked for it.

It may hold keys. Only its owner can read it, from the dispatch until the launch reads and deletes it. Its content is
never in the database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.resources.coord_prompt_inbox import look_at_file
from fleet.world.home import environment, paths

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim, Look
    from fleet.resources.kind import Order
    from fleet.world.world import World


class AgentEnvironment:
    """The file environments/<dispatch id>.json in the home."""

    name = "agent_environment"
    klass = "delivery"
    by_program = False

    def name_for(self, order: Order, _world: World) -> str:
        """Return the path of the agent's file of variables, relative to the home."""
        return paths.agent_environment(order.dispatch)

    def data_for(self, _order: Order, _world: World) -> dict[str, str]:
        """Return no data: values of variables are not kept in the database."""
        return {}

    def look(self, claim: Claim, world: World) -> Look:
        """Return whether the file is at the claim's path.

        `ours` for a regular file, `absent` for nothing (the launch deletes the file), `foreign` for anything else,
        `unknown` when the path cannot be looked at.
        """
        return look_at_file(f"{world.home}/{claim.name}")

    def acquire(self, claim: Claim, order: Order, world: World, _lock: int) -> None:
        """Write the variables into the file, atomically and readable only by its owner."""
        environment.write_variables(world.files, claim.name, order.passed)

    def release(self, claim: Claim, world: World, _lock: int) -> None:
        """Delete the file, if the launch has not done so."""
        world.files.unlink(claim.name)
