"""Rehearse a merge: try whether a task's work merges and verifies, in a worktree that fleet owns. No branch is moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import task_ref
from fleet.model.results.merge import Tried
from fleet.verbs.merge.branches import integration_branch
from fleet.verbs.merge.finisher import finish, order_for
from fleet.verbs.merge.merge import finish_dead_merges
from fleet.verbs.merge.tree.turn import merge_turn
from fleet.verbs.merge.tree.verify import verify_command

if TYPE_CHECKING:
    from fleet.verbs.context import Context


def rehearse(context: Context, project: str, slug: str) -> Tried:
    """Merge and verify a task's branch without moving any branch. Returns whether that worked, and what happened.

    Waits while a merge of the project runs. A conflict, a failed verify and a missing branch are returned, not raised.
    `commit` of the result is the tip of the task's branch, None without a branch. Raises whatever else `finish` raises,
    such as SetupFailed, or Refused while an agent works on the task.
    """
    with merge_turn(context, project, [slug]):
        finish_dead_merges(context, project)
        repository = context.project(project).path
        integration, base = integration_branch(context, project, repository)
        tip = context.world.git.resolve(repository, task_ref(slug))
        if tip is None:
            return Tried(ok=False, says="it has no branch", commit=None)
        try:
            order = order_for(context, project, slug, integration=integration, base=base, work=tip)
            finish(context, order, move=None)
        except errors.NotMergeable as error:
            return Tried(ok=False, says=str(error.facts["why"]), commit=tip)
        verified = verify_command(context, order) is not None
        says = "it merges, and verify passes on the merged tree" if verified else "it merges; it has no verify command"
        return Tried(ok=True, says=says, commit=tip)
