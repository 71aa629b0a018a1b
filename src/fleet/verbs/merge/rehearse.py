"""Rehearse: would a task's work merge, and pass its verify command? Tried in a worktree of fleet's own; no branch is moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.errors.families import FleetError
from fleet.errors.refused import NotMergeable
from fleet.model.branches import task_ref
from fleet.resources import KINDS
from fleet.verbs.dispatch.acquire import acquire, intent
from fleet.verbs.dispatch.reclaim import reclaim
from fleet.verbs.merge.branches import integration_branch
from fleet.verbs.merge.merge import begin, end_finisher, merge_and_verify, order_for

if TYPE_CHECKING:
    from fleet.resources.kind import Order
    from fleet.verbs.context import Ground


def rehearse(ground: Ground, project: str, slug: str) -> dict[str, Any]:
    """Merge and verify, as a finisher would, and let all of it go again."""
    with ground.world.project_gate(project, "merge"):
        repository = ground.project(project)["path"]
        integration, base = integration_branch(ground, project, repository)
        tip = ground.world.git.resolve(repository, task_ref(slug))
        if tip is None:
            return {"ok": False, "says": "it has no branch", "commit": None}
        order = order_for(ground, project, slug, repository, (integration, base, tip))
        return _tried(ground, order, tip)


def _tried(ground: Ground, order: Order, tip: str) -> dict[str, Any]:
    claim = intent(ground, KINDS["merge_tree"], order)
    ground.commit(begin(ground, order, claim))
    try:
        acquire(ground, [claim], order)
        merge_and_verify(ground, order, claim, tip)
        found = {"ok": True, "says": "it merges, and verify passes on the merged tree", "commit": tip}
    except NotMergeable as error:
        found = {"ok": False, "says": str(error.facts["why"]), "commit": tip}
    except (FleetError, OSError) as error:
        ground.commit(end_finisher(order, "failed", str(error)))
        reclaim(ground, order.dispatch)
        raise
    ground.commit(end_finisher(order, "done", None))
    reclaim(ground, order.dispatch)
    return found
