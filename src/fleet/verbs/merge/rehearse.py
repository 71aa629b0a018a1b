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
    from fleet.verbs.context import Context


def rehearse(context: Context, project: str, slug: str) -> dict[str, Any]:
    """Merge and verify, as a finisher would, and let all of it go again."""
    with context.world.project_gate(project, "merge"):
        repository = context.project(project).path
        integration, base = integration_branch(context, project, repository)
        tip = context.world.git.resolve(repository, task_ref(slug))
        if tip is None:
            return {"ok": False, "says": "it has no branch", "commit": None}
        order = order_for(context, project, slug, repository, (integration, base, tip))
        return _tried(context, order, tip)


def _tried(context: Context, order: Order, tip: str) -> dict[str, Any]:
    claim = intent(context, KINDS["merge_tree"], order)
    context.commit(begin(context, order, claim))
    try:
        acquire(context, [claim], order)
        merge_and_verify(context, order, claim, tip)
        found = {"ok": True, "says": "it merges, and verify passes on the merged tree", "commit": tip}
    except NotMergeable as error:
        found = {"ok": False, "says": str(error.facts["why"]), "commit": tip}
    except (FleetError, OSError) as error:
        context.commit(end_finisher(order, "failed", str(error)))
        reclaim(context, order.dispatch)
        raise
    context.commit(end_finisher(order, "done", None))
    reclaim(context, order.dispatch)
    return found
