"""Restore merges: put recorded merges that no branch contains back onto the integration branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.results.merge import MergesRestored
from fleet.store.transaction import Change
from fleet.verbs.merge.branches import refuse_checked_out
from fleet.verbs.merge.recorded import missing_merges, slugs_of

if TYPE_CHECKING:
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context


def restore_merges(context: Context, project: str) -> MergesRestored:
    """Put every missing merge back onto the integration branch. Commits that are on the branch stay there.

    Raises GateHeld while a merge runs, BranchInUse when the branch is checked out, Refused on a conflict or when the
    branch moved meanwhile. Then nothing is changed.
    """
    with context.world.project_gate(project, "merge"):
        missing = missing_merges(context, project)
        if not missing:
            return MergesRestored(project=project, restored=[], commit=None, changed=False)
        repository, integration = context.project(project).path, missing[0].integration
        refuse_checked_out(context, repository, integration)
        tip = _restore_branch(context, repository, integration, [row.made for row in missing])
        restored = MergesRestored(project=project, restored=slugs_of(missing), commit=tip, changed=True)
        return context.commit(_record_restored(restored, integration))


def _restore_branch(context: Context, repository: str, integration: str, commits: list[str]) -> str:
    """Move the integration branch so that it contains the given commits. Returns its new commit.

    Fast-forwards where possible, else makes a merge commit. Raises Refused on a conflict, or when the branch has moved
    meanwhile.
    """
    git, proofs = context.world.git, context.world.proofs
    old = git.branches(repository, integration).get(integration)
    tip = old
    for commit in commits:
        tip = commit if tip is None else _join_commits(context, repository, integration, tip, commit)
    if tip is None or not (
        proofs.create_and_protect(repository, integration, tip)
        if old is None
        else proofs.move_and_protect(repository, integration, new=tip, old=old)
    ):
        raise errors.Refused(what=f"{integration} moved meanwhile; nothing was restored, try again")
    return tip


def _join_commits(context: Context, repository: str, integration: str, tip: str, commit: str) -> str:
    """Return a commit that contains both commits: one of the two, or a new merge commit. Raises Refused on a conflict."""
    git = context.world.git
    if git.is_in(repository, commit, tip):
        return tip
    if git.is_in(repository, tip, commit):
        return commit
    joined = context.world.proofs.join(repository, tip, commit, f"Restore merged work on {integration}")
    if joined.conflicts:
        what = f"{commit[:12]} does not merge into {integration} by itself: conflict in {', '.join(joined.conflicts)}"
        raise errors.Refused(
            what=f"{what}; check out {integration}, run `git merge {commit[:12]}` there and commit the result"
        )
    return joined.commit


def _record_restored(restored: MergesRestored, integration: str) -> Change[MergesRestored]:
    """Return the change that records which merges were restored."""

    def work(tx: Tx) -> MergesRestored:
        tx.about(restored.project)
        tx.note(integration=integration, commit=restored.commit, restored=restored.restored)
        return restored

    why = f"restore {len(restored.restored)} merged tasks on {integration} of {restored.project}"
    return Change(why, work, returns=MergesRestored)
