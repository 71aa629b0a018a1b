"""Merge commits in a tree, one on top of another, and check each merge commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet import errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.resources.kind import Order
    from fleet.verbs.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedOrder:
    """The merge commit of one order, and the commit that it was merged into."""

    order: Order
    onto: str
    commit: str


def merge_in_turn(context: Context, path: str, orders: Sequence[Order], *, advice: str, lock: int) -> list[MergedOrder]:
    """Merge the commits of several orders in a tree that is at the base of the first. Returns the merges, in order.

    Raises NotMergeable when the first one conflicts. A later one that conflicts with those before it is left out: the
    caller tries it again after they are merged. `advice` tells a person how to resolve the conflict ("" for the usual
    advice); `lock` is the descriptor of the tree's effect lock, which git inherits.
    """
    made: list[MergedOrder] = []
    for order in orders:
        onto = made[-1].commit if made else order.base or ""
        conflict = context.world.git.merge(path, order.work, f"Merge {order.slug}", lock=lock)
        if conflict is None:
            made.append(MergedOrder(order=order, onto=onto, commit=_merge_commit(context, order, path, onto)))
        elif not made:
            retry = f"`fleet task retry {order.slug}` lets an agent bring it up to date"
            why = f"conflict in {', '.join(conflict)}"
            raise errors.NotMergeable(
                project=order.project, slug=order.slug, why=why, advice=advice or retry, stage="rebase"
            )
    return made


def _merge_commit(context: Context, order: Order, path: str, onto: str) -> str:
    """Return the merge commit that git has just made at `path`.

    Checks that its parents are the old tip `onto` and the task's commit, in this order; raises FleetError if not.

    Returns the old tip when it already contains the task's commit.
    """
    work, merge_commit = order.work, context.world.git.resolve_in(path, "HEAD")
    if merge_commit is None:
        raise errors.FleetError(what="git does not say which commit the merge made")
    nothing_new = merge_commit == onto and context.world.git.is_in(order.repository, work, merge_commit) is True
    if not nothing_new and context.world.proofs.parents(order.repository, merge_commit) != [onto, work]:
        raise errors.FleetError(
            what=f"{merge_commit[:12]} is not the merge of {work[:12]} into {(onto or 'nothing')[:12]}"
        )
    return merge_commit
