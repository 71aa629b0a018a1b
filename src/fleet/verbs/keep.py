"""Keep: uncommitted work in a worktree that nobody needs any more. Never deleted; committed to a ref of its own if the person says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.errors import Absent
from fleet.model.claim import Claim
from fleet.resources import half_removed
from fleet.resources.worktree import GATE_WAIT
from fleet.store import queries as q
from fleet.verbs.holding import gate_to_let_go
from fleet.verbs.reclaim import is_disposable, reclaim, release_bundle, uncommitted

if TYPE_CHECKING:
    from fleet.verbs.ground import Ground

_WAIT = 10.0


def dirty(ground: Ground) -> list[dict[str, Any]]:
    """Worktrees of archived tasks that are kept because of uncommitted work."""
    claims = [Claim.of(row) for row in ground.store.read(lambda rows: rows.all(q.LONE_CLAIMS))]
    return [
        {"project": claim.project, "task": claim.slug, "path": claim.name}
        for claim in claims
        if uncommitted(ground, claim)
    ]


def _kept(ground: Ground, project: str, slug: str, repository: str) -> str:
    mine = [each for each in dirty(ground) if (each["project"], each["task"]) == (project, slug)]
    if not mine or not is_disposable(ground, project, slug):
        raise Absent(what=f"worktree of {project}/{slug} with uncommitted work that nobody needs any more")
    for claim in (Claim.of(row) for row in ground.store.read(lambda rows: rows.all(q.LONE_CLAIMS))):
        if claim.name == mine[0]["path"]:
            half_removed.restore(claim, ground.world)  # what a removal has begun with is nobody's work
    return ground.world.git.keep_dirty(repository, mine[0]["path"], slug)


def keep(ground: Ground, project: str, slug: str) -> dict[str, Any]:
    """Commit the work to refs/fleet/kept/<slug>/<n>, and release the bundle. No agent can be started in it meanwhile."""
    repository = ground.project(project)["path"]
    work, gate = gate_to_let_go(ground, project, slug), ground.world.git_gate(repository)
    work.take(wait=_WAIT)
    try:
        gate.take(wait=GATE_WAIT)
        ref = _kept(ground, project, slug, repository)
    finally:
        gate.give()
        work.give()
    left = release_bundle(ground, project, slug)
    last = ground.store.read(lambda rows: rows.one(q.LAST_OF_TASK, project=project, slug=slug))
    if last is not None:
        reclaim(ground, last["id"])
    return {"project": project, "task": slug, "ref": ref, "left": left}
