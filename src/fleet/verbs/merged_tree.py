"""The tree that a finisher merges in: which commit fleet made there, and that verify left it as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors import FleetError, NotMergeable

if TYPE_CHECKING:
    from fleet.resources.kind import Order
    from fleet.verbs.ground import Ground

_LISTED = 10


def merge_commit(ground: Ground, order: Order, path: str, work: str) -> str:
    """Return the commit that the merge made: the old tip and the task's commit are its parents, in this order.

    Where the old tip had the task's commit already, that is the old tip itself.
    """
    made = ground.world.git.resolve_in(path, "HEAD")
    if made is None:
        raise FleetError(what="git does not say what was merged")
    nothing_new = made == order.base and ground.world.git.is_in(order.repository, work, made) is True
    if not nothing_new and ground.world.proofs.parents(order.repository, made) != [order.base, work]:
        raise FleetError(what=f"{made[:12]} is not the merge of {work[:12]} into {(order.base or 'nothing')[:12]}")
    return made


def refuse_changed_tree(ground: Ground, order: Order, path: str, made: str, hidden_before: set[str]) -> None:
    """Refuse a merge whose tree is not the one that verify was given: then verify has tried something else."""
    proofs = ground.world.proofs
    if not proofs.is_detached_at(path, made):
        now = ground.world.git.resolve_in(path, "HEAD") or "nothing"
        raise _refusal(order, f"the verify command moved HEAD of the merged tree from {made[:12]} to {now[:12]}")
    changed = sorted({*proofs.changed_files(path), *(proofs.hidden_files(path) - hidden_before)})
    if changed:
        more = f" and {len(changed) - _LISTED} more" if len(changed) > _LISTED else ""
        raise _refusal(order, f"the verify command changed files that git tracks: {', '.join(changed[:_LISTED])}{more}")


def _refusal(order: Order, why: str) -> NotMergeable:
    advice = (
        "let the verify command leave HEAD and tracked files alone (or ignore what it writes), "
        f"then `fleet task retry {order.slug} -p {order.project}`"
    )
    return NotMergeable(project=order.project, slug=order.slug, why=why, advice=advice, stage="finisher")
