"""worktree: the git worktree of a task, on the task's own branch.

git locks it with fleet's lock reason before it has files, so that a half-made worktree is recognised and completed. It
is removed only when it is clean, and its branch is deleted only when it is merged.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fleet import errors
from fleet.model.dispatch.worktree_verdict import Aside, Keep
from fleet.records import replace
from fleet.resources.worktree import half_made, half_removed
from fleet.resources.worktree.branch_ownership import (
    foreign_branch,
    is_branch_of_project,
    is_made_by,
    maker_of,
    mark_unmarked_branch,
    may_delete_branch,
)
from fleet.resources.worktree.half_made import lock_prefix
from fleet.resources.worktree.verdict import is_rebasing, removal_verdict
from fleet.world.git.branch_in_use import why_branch_in_use
from fleet.world.git.nested.remove import take_out
from fleet.world.git.worktrees.add import add_detached, add_worktree, begin_branch, fill_worktree, switch_worktree
from fleet.world.git.worktrees.remove import forget_worktree, remove_worktree
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim, Look
    from fleet.resources.kind import Order
    from fleet.world.git.worktrees.worktree_status import ListedWorktree
    from fleet.world.world import World

# Seconds to wait for other changes of the repository's worktrees and branches.
GATE_WAIT = 600.0


class Worktree:
    """The worktree in which the agents of a task work, one after another."""

    name = "worktree"
    klass = "adoptable"
    by_program = True

    def name_for(self, order: Order, world: World) -> str:
        """Return the path of the task's worktree; all dispatches of the task share it."""
        return f"{world.home}/{paths.worktree(order.project, order.slug or '')}"

    def data_for(self, order: Order, _world: World) -> dict[str, Any]:
        """Return the repository and the branches of the worktree, and whether its branch existed before."""
        place = {"repository": order.repository, "branch": order.branch, "integration": order.integration}
        return place | {"branch_was_there": order.branch_was_there, "branch_mark": order.branch_mark}

    def look(self, claim: Claim, world: World) -> Look:
        """Return `ours` if git lists the worktree on its branch, or in a rebase of that branch.

        A worktree that this claim has half made is `ours` even without a branch, if nobody has worked in it. Otherwise
        `absent`, `foreign` or `unknown`.
        """
        return self._look_in_list(claim, world.git.worktrees(claim.data["repository"]), world)

    def _look_in_list(self, claim: Claim, known: list[ListedWorktree] | None, world: World) -> Look:
        """Return whether the worktree is ours, absent, foreign or unknown, by git's list of worktrees `known`.

        If git failed, `known` is None: unused leftovers of the claim's interrupted creation are then ours, all else is unknown.
        """
        if known is None:
            begun = half_made.has_leftovers(claim, world) and not half_made.is_used(claim, world)
            return "ours" if begun else "unknown"
        here = _registered_worktree(claim, known)
        if here is not None and half_removed.is_registered_on_branch(claim, here):
            return "ours"
        if here is None or here.prunable or not os.path.isdir(claim.name):
            return "absent" if half_made.is_empty_folder(claim) or not os.path.lexists(claim.name) else "foreign"
        if claim.is_unmade:  # foreign when another claim made it, or when somebody may have worked in it
            ours = half_made.is_locked_by(claim, here.locked, world) and not half_made.is_used(claim, world)
            return "ours" if ours else "foreign"
        return "ours" if here.branch == claim.data["branch"] or is_rebasing(claim, here.branch) else "foreign"

    def acquire(self, claim: Claim, order: Order, world: World, lock: int) -> None:
        """Create the worktree, or complete a half-made one.

        Raise WorktreeRefused when something else is at its path or git does not say, ForeignBranch when the task's
        branch exists and is not provably this project's, and GitRefused when git fails.
        """
        gate = world.git_gate(order.repository)
        gate.take(wait=GATE_WAIT)
        try:
            if os.path.lexists(claim.name) or not self._try_make(claim, order, world, lock):
                self._acquire_with_care(claim, order, world, lock)
        finally:
            gate.give()

    def _try_make(self, claim: Claim, order: Order, world: World, lock: int) -> bool:
        """Create the worktree without asking git first what exists, which is faster. Return False when git refuses."""
        try:
            self._make(claim, order, world, lock)
        except errors.GitRefused:
            return False
        return True

    def _acquire_with_care(self, claim: Claim, order: Order, world: World, lock: int) -> None:
        """Ask git what exists; then complete a half-made worktree, or remove leftovers and create the worktree.

        Raise WorktreeRefused when what exists is foreign or unknown.
        """
        known = world.git.worktrees(order.repository)
        look = self._look_in_list(claim, known, world)
        if look == "ours" and self._try_complete(claim, order, world, lock):
            return
        if look in {"foreign", "unknown"}:
            raise _worktree_refused(claim, look, _registered_worktree(claim, known or []), world)
        half_made.discard(claim, world)
        if look == "absent" and _registered_worktree(claim, known or []) is not None:
            forget_worktree(world.git, order.repository, claim.name)
        self._make(claim, order, world, lock)

    def _make(self, claim: Claim, order: Order, world: World, lock: int) -> None:
        """Create the worktree: on the task's branch if this project has it already, else on a new, marked branch."""
        world.files.make_folder(os.path.dirname(claim.name))
        repository, limit, rest = order.repository, order.git_limit, order.meanwhile
        reason = half_made.lock_reason(claim, order.dispatch, world)
        if self._has_own_branch(claim, order, world):
            add_worktree(
                world.git, repository, claim.name, order.branch, reason=reason, limit=limit, lock=lock, meanwhile=rest
            )
        else:
            at = order.base or "HEAD"
            add_detached(world.git, repository, claim.name, at, reason=reason, limit=limit, lock=lock, meanwhile=rest)
            self._begin_branch(claim, order, world, lock)
            self._mark_branch(claim, order, world)

    def _begin_branch(self, claim: Claim, order: Order, world: World, lock: int) -> None:
        """Create the task's branch. Its reflog names this claim as the maker, which proves the owner without a mark."""
        begin_branch(world.git, claim.name, order.branch, maker=maker_of(claim), limit=order.git_limit, lock=lock)

    def _mark_branch(self, claim: Claim, order: Order, world: World) -> None:
        """Mark the branch that this claim created, with the commit at which it started."""
        base = order.base or world.git.resolve_in(claim.name, "HEAD") or ""
        world.proofs.mark_branch(order.repository, order.branch, f"{order.branch_mark}{base}")

    def _try_complete(self, claim: Claim, order: Order, world: World, lock: int) -> bool:
        """Check out the files of a half-made worktree, and put it on the task's branch, creating that if necessary.

        Return False when git refuses.
        """
        there = self._has_own_branch(claim, order, world)
        try:
            fill_worktree(world.git, claim.name, limit=order.git_limit, lock=lock)
            if there:
                switch_worktree(world.git, claim.name, order.branch, limit=order.git_limit, lock=lock)
            else:
                self._begin_branch(claim, order, world, lock)
            if not claim.data.get("branch_was_there", True):
                self._mark_branch(claim, order, world)
        except errors.GitRefused:
            return False
        return True

    def _has_own_branch(self, claim: Claim, order: Order, world: World) -> bool:
        """Return whether the task's branch exists.

        Raise ForeignBranch when it exists, is not provably this project's, and was not created by this claim.
        """
        if order.branch not in world.git.branches(order.repository, order.branch):
            return False
        place = (order.repository, order.branch)
        is_of_project = is_branch_of_project(*place, order.branch_mark, world, known=order.work)
        if not is_of_project and not is_made_by(claim, *place, world):
            raise foreign_branch(claim.name, order.branch, order.repository)
        return True

    def release(self, claim: Claim, world: World, lock: int) -> None:
        """Remove the worktree if it is clean, and delete its branch if it is merged.

        Raise GitRefused when work would be lost, or when `look` returns `foreign` or `unknown`.
        """
        repository, owner = claim.data["repository"], claim.data.get("owner_mark", "")
        gate = world.git_gate(repository)
        gate.take(wait=GATE_WAIT)
        try:
            look = self.look(claim, world)
            if look in {"unknown", "foreign"}:
                raise errors.GitRefused(what=f"remove {claim.name}", why=f"it is {look}")
            if claim.is_unmade:
                half_made.discard(claim, world)
            elif look == "ours":
                half_removed.restore(claim, world)
                _refuse_losing_work(claim, world)
                if owner:
                    mark_unmarked_branch(claim, owner, world)
                take_out(world.git, claim.name)
                reason = f"{lock_prefix(world)}released"
                remove_worktree(world.git, repository, claim.name, reason=reason, lock=lock)
            if not claim.is_unmade or not claim.data.get("branch_was_there", True):
                self._delete_branch(claim, world, held=look == "ours")
        finally:
            gate.give()

    def _delete_branch(self, claim: Claim, world: World, *, held: bool) -> None:
        """Delete the task's branch if it is this project's, merged and unused.

        `held`: the worktree, just removed, had the branch checked out. Then, for an unmerged branch, record the
        commit at which it was left.
        """
        repository, branch, integration = (claim.data.get(name, "") for name in ("repository", "branch", "integration"))
        commit = world.git.branches(repository, branch).get(branch)
        if commit is None or not may_delete_branch(claim, repository, branch, world, held=held):
            return
        if not (integration and world.git.contains(repository, integration, commit)):
            if held:
                world.proofs.note_left(repository, branch, commit)
        elif not why_branch_in_use(world.git, repository, branch) and world.git.drop_branch(
            repository, branch, old=commit
        ):
            world.proofs.unmark_branch(repository, branch)


def _refuse_losing_work(claim: Claim, world: World) -> None:
    """Raise GitRefused if the worktree has work that removing it would lose, written since it was found clean."""
    whole = replace(claim, state="live")  # the files that an interrupted removal deleted are restored
    verdict = removal_verdict(whole, world, disposable=claim.data.get("disposable", ()))
    if isinstance(verdict, Keep):
        raise errors.GitRefused(what=f"remove {claim.name}", why=verdict.reason)
    if isinstance(verdict, Aside):
        raise errors.GitRefused(what=f"remove {claim.name}", why=f"it has {verdict.files} new ignored files; try again")


def _worktree_refused(claim: Claim, look: Look, here: ListedWorktree | None, world: World) -> errors.WorktreeRefused:
    """Return the error for an existing worktree that cannot be used, with what a person can do.

    `here` is git's entry for the worktree, None when git has none.
    """
    if claim.is_unmade and here is not None and (here.locked or "").startswith(lock_prefix(world)):
        why = "fleet made it, but its database knows of no work in it: was a backup restored, or is it changed by its checkout alone?"
        advice = "save what you need of it and move the folder away; the next dispatch makes it anew"
        return errors.WorktreeRefused(path=claim.name, why=why, advice=advice)
    advice = "look at it with git worktree list; move it away or repair it"
    return errors.WorktreeRefused(path=claim.name, why=f"it is {look}", advice=advice)


def _registered_worktree(claim: Claim, known: list[ListedWorktree]) -> ListedWorktree | None:
    """Return the claim's worktree from git's list; None when git does not list it."""
    return next((listed for listed in known if os.path.realpath(listed.path) == os.path.realpath(claim.name)), None)
