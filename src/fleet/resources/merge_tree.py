"""merge_tree: the worktree in which a finisher merges. It is on no branch, and no agent works in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fleet import errors
from fleet.resources.worktree import half_made, half_removed
from fleet.world.git.worktrees.add import add_scratch
from fleet.world.git.worktrees.remove import discard_scratch
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim, Look
    from fleet.resources.kind import Order
    from fleet.world.world import World

# Seconds to wait for other changes of the repository's worktrees and branches.
_GATE_WAIT = 600.0


class MergeTree:
    """The temporary worktree of one finisher dispatch."""

    name = "merge_tree"
    klass = "exclusive"
    by_program = True

    def name_for(self, order: Order, world: World) -> str:
        """Return the path of the merge tree, which contains the finisher's dispatch id."""
        return f"{world.home}/{paths.merge_tree(order.project, order.dispatch)}"

    def data_for(self, order: Order, _world: World) -> dict[str, Any]:
        """Return what the claim keeps besides its name: the repository of the merge tree."""
        return {"repository": order.repository}

    def look(self, claim: Claim, world: World) -> Look:
        """Return `ours` if git lists the merge tree.

        If git does not list it: `foreign` when something is at its path, else `absent`; an empty folder that an
        interrupted creation left does not count. If git fails: `ours` when this claim's interrupted creation left
        parts of the merge tree, else `unknown`.
        """
        known = world.git.worktrees(claim.data["repository"])
        if known is None:
            return "ours" if half_made.has_leftovers(claim, world) else "unknown"
        if any(os.path.realpath(worktree.path) == os.path.realpath(claim.name) for worktree in known):
            return "ours"
        return "absent" if half_made.is_empty_folder(claim) or not os.path.lexists(claim.name) else "foreign"

    def acquire(self, claim: Claim, order: Order, world: World, lock: int) -> None:
        """Create the merge tree at the commit `order.base`.

        Raise WorktreeRefused when `order.base` is None, or when `look` does not return `absent`.
        """
        gate = world.git_gate(order.repository)
        gate.take(wait=_GATE_WAIT)
        try:
            if self.look(claim, world) != "absent" or order.base is None:
                raise errors.WorktreeRefused(
                    path=claim.name, why="the path is taken already", advice="run `fleet clean`"
                )
            world.files.make_folder(os.path.dirname(claim.name))
            reason = half_made.lock_reason(claim, order.dispatch, world)
            add_scratch(
                world.git, order.repository, claim.name, order.base, reason=reason, limit=order.git_limit, lock=lock
            )
        finally:
            gate.give()

    def release(self, claim: Claim, world: World, lock: int) -> None:
        """Remove the merge tree, with all changes in it: only git and the verify command have written there.

        Raise GitRefused when `look` returns `foreign` or `unknown`.
        """
        gate = world.git_gate(claim.data["repository"])
        gate.take(wait=_GATE_WAIT)
        try:
            look = self.look(claim, world)
            if look in {"unknown", "foreign"}:
                raise errors.GitRefused(what=f"remove {claim.name}", why=f"it is {look}")
            if claim.is_unmade:
                half_made.discard(claim, world)
            elif look == "ours":
                half_removed.repoint(claim, world)
                discard_scratch(world.git, claim.data["repository"], claim.name, lock=lock)
        finally:
            gate.give()
