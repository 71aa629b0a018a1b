"""worktree: the git worktree of a task, on its own branch.

Locked under our name before it has files, so that a half-made one is recognised and completed. Removed only when it is clean;
its branch goes only when it is merged.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fleet import errors
from fleet.model.branches import head_ref
from fleet.model.dispatch.worktree_verdict import Aside, Keep
from fleet.resources.worktree import half_made, half_removed
from fleet.resources.worktree.branch_ownership import (
    is_branch_of_project,
    is_made_by,
    maker_of,
    mark_unmarked_branch,
    may_delete_branch,
)
from fleet.resources.worktree.half_made import UNMADE, lock_prefix
from fleet.resources.worktree.verdict import may_go
from fleet.world.git.branch_in_use import branch_in_hand
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim, Look
    from fleet.resources.kind import Order
    from fleet.world.git.git import Worktree as Listed
    from fleet.world.world import World

GATE_WAIT = 600.0


class Worktree:
    """Where a task's agents work, one after another."""

    name = "worktree"
    klass = "adoptable"
    by_program = True

    def name_for(self, order: Order, world: World) -> str:
        """Keyed by task, not by dispatch."""
        return f"{world.home}/{paths.worktree(order.project, order.slug or '')}"

    def data_for(self, order: Order, _world: World) -> dict[str, Any]:
        """Where it belongs."""
        place = {"repository": order.repository, "branch": order.branch, "integration": order.integration}
        return place | {"branch_was_there": order.branch_was_there, "branch_mark": order.branch_mark}

    def look(self, claim: Claim, world: World) -> Look:
        """Ours only if git registers it, on the right branch; one that we were making may have none yet."""
        return self._look_in_list(claim, world.git.worktrees(claim.data["repository"]), world)

    def _look_in_list(self, claim: Claim, known: list[Listed] | None, world: World) -> Look:
        if known is None:
            begun = half_made.has_leftovers(claim, world) and not half_made.is_used(claim, world)
            return "ours" if begun else "unknown"
        here = _registered_worktree(claim, known)
        if here is not None and half_removed.is_registered_on_branch(claim, here):
            return "ours"
        if here is None or here.prunable or not os.path.isdir(claim.name):
            return "absent" if half_made.is_empty_folder(claim) or not os.path.lexists(claim.name) else "foreign"
        if claim.state in UNMADE:  # what another claim made, or what is changed already, somebody may have worked in
            ours = half_made.is_locked_by(claim, here.locked, world) and not half_made.is_used(claim, world)
            return "ours" if ours else "foreign"
        return "ours" if here.branch == claim.data["branch"] else "foreign"

    def acquire(self, claim: Claim, order: Order, world: World, lock: int) -> None:
        """Make it, complete it, or refuse it."""
        gate = world.git_gate(order.repository)
        gate.take(wait=GATE_WAIT)
        try:
            if os.path.lexists(claim.name) or not self._try_make(claim, order, world, lock):
                self._acquire_with_care(claim, order, world, lock)
        finally:
            gate.give()

    def _try_make(self, claim: Claim, order: Order, world: World, lock: int) -> bool:
        """Where nothing is, git need not be asked first; if it refuses, it is."""
        try:
            self._make(claim, order, world, lock)
        except errors.GitRefused:
            return False
        return True

    def _acquire_with_care(self, claim: Claim, order: Order, world: World, lock: int) -> None:
        known = world.git.worktrees(order.repository)
        look = self._look_in_list(claim, known, world)
        if look == "ours" and self._try_complete(claim, order, world, lock):
            return
        if look in {"foreign", "unknown"}:
            raise _worktree_refused(claim, look, _registered_worktree(claim, known or []), world)
        half_made.discard(claim, world)
        if look == "absent" and _registered_worktree(claim, known or []) is not None:
            world.git.forget(order.repository, claim.name)
        self._make(claim, order, world, lock)

    def _make(self, claim: Claim, order: Order, world: World, lock: int) -> None:
        """Make it on a new branch, which is marked; on the one that is there only if its mark proves it to be this project's."""
        world.files.make_folder(os.path.dirname(claim.name))
        repository, limit, rest = order.repository, order.git_limit, order.meanwhile
        reason = half_made.lock_reason(claim, order.dispatch, world)
        if self._has_own_branch(claim, order, world):
            world.git.add_worktree(
                repository, claim.name, order.branch, reason=reason, limit=limit, lock=lock, meanwhile=rest
            )
        else:
            at = order.base or "HEAD"
            world.git.add_detached(repository, claim.name, at, reason=reason, limit=limit, lock=lock, meanwhile=rest)
            self._begin_branch(claim, order, world, lock)
            self._mark_branch(claim, order, world)

    def _begin_branch(self, claim: Claim, order: Order, world: World, lock: int) -> None:
        """Make the branch, with this claim as its maker: if the mark does not follow, that proves whose it is."""
        world.git.begin_branch(claim.name, order.branch, maker=maker_of(claim), limit=order.git_limit, lock=lock)

    def _mark_branch(self, claim: Claim, order: Order, world: World) -> None:
        """Mark the branch that this claim made, with the commit that it began at."""
        base = order.base or world.git.resolve_in(claim.name, "HEAD") or ""
        world.proofs.mark_branch(order.repository, order.branch, f"{order.branch_mark}{base}")

    def _try_complete(self, claim: Claim, order: Order, world: World, lock: int) -> bool:
        """Fill it, and put it on its branch if its maker did not come that far; False if too little of it is there."""
        there = self._has_own_branch(claim, order, world)
        try:
            world.git.fill_worktree(claim.name, limit=order.git_limit, lock=lock)
            if there:
                world.git.switch(claim.name, order.branch, limit=order.git_limit, lock=lock)
            else:
                self._begin_branch(claim, order, world, lock)
            if not claim.data.get("branch_was_there", True):
                self._mark_branch(claim, order, world)
        except errors.GitRefused:
            return False
        return True

    def _has_own_branch(self, claim: Claim, order: Order, world: World) -> bool:
        """Whether the task's branch exists. Refused when it is not provably this project's."""
        if order.branch not in world.git.branches(order.repository, order.branch):
            return False
        if not is_branch_of_project(order, world) and not is_made_by(claim, order.repository, order.branch, world):
            advice = f"rename or delete the branch {order.branch} in {order.repository}, or choose another slug"
            why = f"branch {order.branch} exists and is not provably of this project's agents"
            raise errors.WorktreeRefused(path=claim.name, why=why, advice=advice)
        return True

    def release(self, claim: Claim, world: World, lock: int) -> None:
        """Remove the tree if it is clean, and the branch if it is merged."""
        repository, owner = claim.data["repository"], claim.data.get("owner_mark", "")
        gate = world.git_gate(repository)
        gate.take(wait=GATE_WAIT)
        try:
            look = self.look(claim, world)
            if look in {"unknown", "foreign"}:
                raise errors.GitRefused(what=f"remove {claim.name}", why=f"it is {look}")
            if claim.state in UNMADE:
                half_made.discard(claim, world)
            elif look == "ours":
                half_removed.restore(claim, world)
                _refuse_losing(claim, world)
                if owner:
                    mark_unmarked_branch(claim, owner, world)
                reason = f"{lock_prefix(world)}released"
                world.git.remove_worktree(repository, claim.name, reason=reason, lock=lock)
            if claim.state not in UNMADE or not claim.data.get("branch_was_there", True):
                self._delete_branch(claim, world, held=look == "ours")
        finally:
            gate.give()

    def _delete_branch(self, claim: Claim, world: World, *, held: bool) -> None:
        """Delete the branch if it is provably this project's, merged, and nobody has it in hand. One that stays is remembered."""
        repository, branch, integration = (claim.data.get(each, "") for each in ("repository", "branch", "integration"))
        commit = world.git.resolve(repository, head_ref(branch))
        if commit is None or not may_delete_branch(claim, repository, branch, world, held=held):
            return
        if not (integration and world.git.contains(repository, integration, commit)):
            if held:
                world.proofs.note_left(repository, branch, commit)
        elif not branch_in_hand(world.git, repository, branch) and world.git.drop_branch(
            repository, branch, old=commit
        ):
            world.proofs.unmark_branch(repository, branch)


def _refuse_losing(claim: Claim, world: World) -> None:
    """Ask once more, right before the removal: somebody may have written into the tree since it was found to be clean."""
    whole = replace(claim, state="live")  # what a removal before this one took away is there again
    verdict = may_go(whole, world, disposable=claim.data.get("disposable", ()))
    if isinstance(verdict, Keep):
        raise errors.GitRefused(what=f"remove {claim.name}", why=verdict.reason)
    if isinstance(verdict, Aside):
        raise errors.GitRefused(what=f"remove {claim.name}", why=f"it has {verdict.files} new ignored files; try again")


def _worktree_refused(claim: Claim, look: Look, here: Listed | None, world: World) -> errors.WorktreeRefused:
    """Why what is there cannot be used, and what a person can do about it."""
    if claim.state in UNMADE and here is not None and (here.locked or "").startswith(lock_prefix(world)):
        why = "fleet made it, but its database knows of no work in it: was a backup restored, or is it changed by its checkout alone?"
        advice = "save what you need of it and move the folder away; the next dispatch makes it anew"
        return errors.WorktreeRefused(path=claim.name, why=why, advice=advice)
    advice = "look at it with git worktree list; move it away or repair it"
    return errors.WorktreeRefused(path=claim.name, why=f"it is {look}", advice=advice)


def _registered_worktree(claim: Claim, known: list[Listed]) -> Listed | None:
    return next((each for each in known if os.path.realpath(each.path) == os.path.realpath(claim.name)), None)
