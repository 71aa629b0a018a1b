"""Keep: uncommitted work in a worktree that nobody needs any more. Never deleted; committed to a ref of its own if the person says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.errors.families import Absent
from fleet.errors.tools import GitRefused
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.worktree_verdict import Keep
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


def dirty(context: Context) -> list[dict[str, Any]]:
    """Worktrees of archived tasks that are kept, each with the reason and whether what it has can be committed to a ref."""
    return [
        {"project": claim.project, "task": claim.slug, "path": claim.name}
        | {"why": found.reason, "committable": found.committable}
        for claim, found in _kept_claims(context)
    ]


def _kept_claims(context: Context) -> list[tuple[Claim, Keep]]:
    claims = [Claim.of(row) for row in context.store.read(lambda rows: q.lone_claims(rows))]
    judged = [(claim, verdict(context, claim)) for claim in claims if is_own(context, claim)]
    return [(claim, found) for claim, found in judged if isinstance(found, Keep)]


def _kept(context: Context, project: str, slug: str, repository: str) -> str:
    mine = [each for each in _kept_claims(context) if (each[0].project, each[0].slug) == (project, slug)]
    if not mine or not is_bundle_releasable(context, project, slug):
        raise Absent(what=f"worktree of {project}/{slug} with uncommitted work that nobody needs any more")
    claim, found = mine[0]
    if not found.committable:
        raise GitRefused(what=f"keep the work of {project}/{slug} in a ref", why=found.reason)
    half_removed.restore(claim, context.world)  # what a removal has begun with is nobody's work
    return context.world.git.keep_dirty(repository, claim.name, slug)


def keep(context: Context, project: str, slug: str) -> dict[str, Any]:
    """Commit the work to refs/fleet/kept/<slug>/<n>, and release the bundle. No agent can be started in it meanwhile."""
    repository = context.project(project).path
    work, gate = gate_to_let_go(context, project, slug), context.world.git_gate(repository)
    work.take(wait=_WAIT)
    try:
        gate.take(wait=GATE_WAIT)
        ref = _kept(context, project, slug, repository)
    finally:
        gate.give()
        work.give()
    left = release_bundle(context, project, slug)
    last = context.store.read(lambda rows: q.last_of_task(rows, project=project, slug=slug))
    if last is not None:
        reclaim(context, last.id)
    return {"project": project, "task": slug, "ref": ref, "left": left, "aside": announced(context, project, slug)}
