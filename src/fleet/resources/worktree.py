"""worktree: the git worktree of a task, on its own branch.

Made locked and without files first, then filled, so that a half-made one is recognised and completed. Removed only when it is
clean; its branch goes only when it is merged.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fleet.errors import GitRefused, WorktreeRefused

if TYPE_CHECKING:
    from fleet.model.claim import Claim, Look
    from fleet.resources.kind import Order
    from fleet.world.git import Worktree as Listed
    from fleet.world.world import World

GATE_WAIT = 600.0


class Worktree:
    """Where a task's agents work, one after another."""

    name = "worktree"
    klass = "adoptable"

    def name_for(self, order: Order, world: World) -> str:
        """Keyed by task, not by dispatch."""
        return f"{world.home}/projects/{order.project}/worktrees/{order.slug}"

    def data_for(self, order: Order, _world: World) -> dict[str, Any]:
        """Where it belongs."""
        place = {"repository": order.repository, "branch": order.branch, "integration": order.integration}
        return place | {"branch_was_there": order.branch_was_there}

    def look(self, claim: Claim, world: World) -> Look:
        """Ours only if git registers it, on the right branch."""
        return self._judge(claim, world.git.worktrees(claim.data["repository"]))

    def _judge(self, claim: Claim, known: list[Listed] | None) -> Look:
        if known is None:
            return "unknown"
        here = _registered(claim, known)
        if here is None or here.prunable or not os.path.isdir(claim.name):
            return "absent" if not os.path.lexists(claim.name) else "foreign"
        return "ours" if here.branch == claim.data["branch"] else "foreign"

    def acquire(self, claim: Claim, order: Order, world: World, lock: int) -> None:
        """Make it, complete it, or refuse it."""
        gate = world.git_gate(order.repository)
        gate.take(wait=GATE_WAIT)
        try:
            if os.path.lexists(claim.name) or not self._made_at_once(claim, order, world, lock):
                self._acquire_with_care(claim, order, world, lock)
        finally:
            gate.give()

    def _made_at_once(self, claim: Claim, order: Order, world: World, lock: int) -> bool:
        """Where nothing is, git need not be asked first; if it refuses, it is."""
        try:
            self._make(claim, order, world, lock)
        except GitRefused:
            return False
        return True

    def _acquire_with_care(self, claim: Claim, order: Order, world: World, lock: int) -> None:
        known = world.git.worktrees(order.repository)
        found = self._judge(claim, known)
        if found == "ours":
            world.git.fill_worktree(claim.name, limit=order.git_limit, lock=lock)
        elif found == "absent":
            if _registered(claim, known or []) is not None:
                world.git.prune(order.repository, claim.name)
            self._make(claim, order, world, lock)
        else:
            advice = "look at it with git worktree list; move it away or repair it"
            raise WorktreeRefused(path=claim.name, why=f"it is {found}", advice=advice)

    def _make(self, claim: Claim, order: Order, world: World, lock: int) -> None:
        """On a new branch; on the one that is there only if it is fleet's own, from an earlier attempt."""
        os.makedirs(os.path.dirname(claim.name), mode=0o700, exist_ok=True)
        reason = f"fleet {world.tmux.home_id} {order.dispatch}"
        try:
            self._add(claim, order, world, lock, reason, base=order.base)
        except GitRefused:
            registered = _registered(claim, world.git.worktrees(order.repository) or []) is not None
            if registered or world.git.resolve(order.repository, f"refs/heads/{order.branch}") is None:
                raise
            if not claim.data.get("branch_is_ours") and claim.data.get("branch_was_there", True):
                advice = f"rename or delete the branch {order.branch} in {order.repository}, or choose another slug"
                why = f"branch {order.branch} exists and is not fleet's"
                raise WorktreeRefused(path=claim.name, why=why, advice=advice) from None
            self._add(claim, order, world, lock, reason, base=None)

    def _add(self, claim: Claim, order: Order, world: World, lock: int, reason: str, *, base: str | None) -> None:
        world.git.add_worktree(
            order.repository,
            claim.name,
            branch=order.branch,
            base=base,
            reason=reason,
            limit=order.git_limit,
            lock=lock,
        )

    def release(self, claim: Claim, world: World, lock: int) -> None:
        """Remove the tree if it is clean, and the branch if it is merged."""
        repository, branch = claim.data["repository"], claim.data["branch"]
        gate = world.git_gate(repository)
        gate.take(wait=GATE_WAIT)
        try:
            found = self.look(claim, world)
            if found == "ours" and claim.state in {"allocating", "failed_alloc"}:
                world.git.discard_scratch(repository, claim.name, lock=lock)  # half-made: nobody ever worked in it
            elif found == "ours":
                if world.git.is_dirty(claim.name) is not False:
                    raise GitRefused(what=f"remove {claim.name}", why="it has uncommitted work")
                reason = f"fleet {world.tmux.home_id} released"
                world.git.remove_worktree(repository, claim.name, reason=reason, lock=lock)
            if claim.state not in {"allocating", "failed_alloc"} or not claim.data.get("branch_was_there", True):
                self._drop_branch(repository, branch, claim.data.get("integration", ""), world)
        finally:
            gate.give()

    def _drop_branch(self, repository: str, branch: str, integration: str, world: World) -> None:
        commit = world.git.resolve(repository, f"refs/heads/{branch}")
        if commit and integration and world.git.contains(repository, integration, commit):
            world.git.drop_branch(repository, branch, old=commit)


def _registered(claim: Claim, known: list[Listed]) -> Listed | None:
    return next((each for each in known if os.path.realpath(each.path) == os.path.realpath(claim.name)), None)
