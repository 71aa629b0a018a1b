"""Worktrees of archived tasks that must not be deleted: list them, and commit their uncommitted work to a ref."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.worktree_verdict import Keep
from fleet.model.results.value import OfTask
from fleet.resources.worktree import half_removed
from fleet.resources.worktree.worktree import GATE_WAIT
from fleet.store import queries as q
from fleet.verbs.dispatch.reclaim import is_bundle_releasable, reclaim, release_bundle, verdict
from fleet.verbs.homes.ownership import is_own
from fleet.verbs.resume.work_lock import cleanup_gate_of_task
from fleet.verbs.sweep.trash import describe_trash
from fleet.world.git.nested.keep_uncommitted import keep_dirty

if TYPE_CHECKING:
    from fleet.verbs.context import Context

# Seconds to wait for the work lock of the task.
_WAIT = 10.0


class KeptTree(OfTask):
    """A worktree of an archived task that is kept: the reason, and whether its content can be committed to a ref."""

    path: str
    why: str
    committable: bool


class KeptWork(OfTask):
    """The ref that now has the uncommitted work, the claims not released yet, and the files moved to the trash."""

    ref: str
    left: list[str]
    aside: list[str]


def kept_worktrees(context: Context) -> list[KeptTree]:
    """Return this home's worktrees of archived tasks that must not be deleted, each with the reason."""
    return [
        KeptTree(
            project=claim.project or "",
            task=claim.slug or "",
            path=claim.name,
            why=kept.reason,
            committable=kept.committable,
        )
        for claim, kept in _kept_claims(context)
    ]


def _kept_claims(context: Context) -> list[tuple[Claim, Keep]]:
    """Return the claims on worktrees of archived tasks that have to be kept, each with the reason."""
    claims = map(Claim.of, context.store.read(q.lone_claims))
    verdicts = ((claim, verdict(context, claim)) for claim in claims if is_own(context, claim))
    return [(claim, kept) for claim, kept in verdicts if isinstance(kept, Keep)]


def _commit_to_ref(context: Context, project: str, slug: str, repository: str) -> str:
    """Commit the uncommitted work of an archived task to a ref and return the ref.

    Raises Absent when no worktree is kept because of such work, GitRefused when the work cannot be committed.
    """
    kept_here = [pair for pair in _kept_claims(context) if (pair[0].project, pair[0].slug) == (project, slug)]
    if not kept_here or not is_bundle_releasable(context, project, slug):
        raise errors.Absent(what=f"kept worktree of {project}/{slug} with uncommitted work")
    claim, kept = kept_here[0]
    if not kept.committable:
        raise errors.GitRefused(what=f"keep the work of {project}/{slug} in a ref", why=kept.reason)
    half_removed.restore(
        claim, context.world
    )  # files that an interrupted removal deleted must not be committed as deleted
    return keep_dirty(context.world.git, repository, claim.name, slug)


def commit_kept_work(context: Context, project: str, slug: str) -> KeptWork:
    """Commit the uncommitted work of an archived task to refs/fleet/kept/<slug>/<n>, then release its worktree.

    Holds the task's work lock, so that no agent can start in the worktree meanwhile. Raises Absent when there is no
    such work, GitRefused when it cannot be committed, and GateHeld when another process keeps a lock for too long.
    """
    repository = context.project(project).path
    work, gate = cleanup_gate_of_task(context, project, slug), context.world.git_gate(repository)
    work.take(wait=_WAIT)
    try:
        gate.take(wait=GATE_WAIT)
        ref = _commit_to_ref(context, project, slug, repository)
    finally:
        gate.give()
        work.give()
    left = release_bundle(context, project, slug)
    last = context.store.read(lambda rows: q.last_of_task(rows, project=project, slug=slug))
    if last is not None:
        reclaim(context, last.id)
    return KeptWork(project=project, task=slug, ref=ref, left=left, aside=describe_trash(context, project, slug))
