"""Keep: uncommitted work in a worktree that nobody needs any more. It is never deleted; a person may have it committed to a ref."""

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
from fleet.verbs.resume.work_lock import gate_to_let_go
from fleet.verbs.sweep.trash import announced

if TYPE_CHECKING:
    from fleet.verbs.context import Context

_WAIT = 10.0


class KeptTree(OfTask):
    """The worktree of an archived task that is kept, why, and whether what it has can be committed to a ref."""

    path: str
    why: str
    committable: bool


class KeptWork(OfTask):
    """The ref that uncommitted work was committed to, what could not be released yet, and what went into the trash."""

    ref: str
    left: list[str]
    aside: list[str]


def kept_worktrees(context: Context) -> list[KeptTree]:
    """Worktrees of archived tasks that are kept because of what is in them."""
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
    claims = map(Claim.of, context.store.read(q.lone_claims))
    judged = ((claim, verdict(context, claim)) for claim in claims if is_own(context, claim))
    return [(claim, kept) for claim, kept in judged if isinstance(kept, Keep)]


def _commit_to_ref(context: Context, project: str, slug: str, repository: str) -> str:
    mine = [each for each in _kept_claims(context) if (each[0].project, each[0].slug) == (project, slug)]
    if not mine or not is_bundle_releasable(context, project, slug):
        raise errors.Absent(what=f"worktree of {project}/{slug} with uncommitted work that nobody needs any more")
    claim, kept = mine[0]
    if not kept.committable:
        raise errors.GitRefused(what=f"keep the work of {project}/{slug} in a ref", why=kept.reason)
    half_removed.restore(claim, context.world)  # undo an interrupted removal: what it deleted is nobody's change
    return context.world.git.keep_dirty(repository, claim.name, slug)


def commit_kept_work(context: Context, project: str, slug: str) -> KeptWork:
    """Commit the work to refs/fleet/kept/<slug>/<n>, and release the bundle. No agent can be started in it meanwhile."""
    repository = context.project(project).path
    work, gate = gate_to_let_go(context, project, slug), context.world.git_gate(repository)
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
    return KeptWork(project=project, task=slug, ref=ref, left=left, aside=announced(context, project, slug))
