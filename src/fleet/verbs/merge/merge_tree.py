"""The tree that a finisher merges in: which commit fleet made there, and that verify left it as it was."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from fleet.errors.families import FleetError
from fleet.errors.refused import NotMergeable

if TYPE_CHECKING:
    from fleet.resources.kind import Order
    from fleet.verbs.context import Context

_LISTED = 10


def merge_commit(context: Context, order: Order, path: str, work: str) -> str:
    """Return the commit that the merge made: the old tip and the task's commit are its parents, in this order.

    Where the old tip had the task's commit already, that is the old tip itself.
    """
    made = context.world.git.resolve_in(path, "HEAD")
    if made is None:
        raise FleetError(what="git does not say what was merged")
    nothing_new = made == order.base and context.world.git.is_in(order.repository, work, made) is True
    if not nothing_new and context.world.proofs.parents(order.repository, made) != [order.base, work]:
        raise FleetError(what=f"{made[:12]} is not the merge of {work[:12]} into {(order.base or 'nothing')[:12]}")
    return made


def tree_state(context: Context, path: str) -> dict[str, str]:
    """Return the tracked files that git calls changed or does not look at, each with a digest of its content.

    Some trees are never clean: line endings that were not normalised, filters. What counts is what verify adds to that.
    """
    proofs = context.world.proofs
    return {name: _digest(f"{path}/{name}") for name in {*proofs.changed_files(path), *proofs.hidden_files(path)}}


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "missing"


def refuse_changed_tree(context: Context, order: Order, path: str, made: str, before: dict[str, str]) -> None:
    """Refuse a merge whose tree is not the one that verify was given: then verify has tried something else."""
    proofs = context.world.proofs
    if not proofs.is_detached_at(path, made):
        head = context.world.git.resolve_in(path, "HEAD") or "nothing"
        raise _refusal(order, f"the verify command moved HEAD of the merged tree from {made[:12]} to {head[:12]}")
    now = tree_state(context, path)
    changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    if changed:
        more = f" and {len(changed) - _LISTED} more" if len(changed) > _LISTED else ""
        raise _refusal(order, f"the verify command changed files that git tracks: {', '.join(changed[:_LISTED])}{more}")


def _refusal(order: Order, why: str) -> NotMergeable:
    advice = (
        "let the verify command leave HEAD and tracked files alone (or ignore what it writes), "
        f"then `fleet task retry {order.slug} -p {order.project}`"
    )
    return NotMergeable(project=order.project, slug=order.slug, why=why, advice=advice, stage="finisher")
