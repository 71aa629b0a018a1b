"""One attempt to merge and verify: choose the tree, merge in it, prepare it, run verify.

Work without a verify command, and work of a project that needs no preparation, is merged in a bare tree that is removed
afterwards. Other work is merged in the project's warm tree, which is prepared once and kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.records import record, replace
from fleet.resources import KINDS
from fleet.resources.warm_tree import reset
from fleet.store import bundles
from fleet.store.transaction import Change
from fleet.verbs.dispatch.acquire import create_and_record, intent, release
from fleet.verbs.merge.tree.merging import merge_in_turn
from fleet.verbs.merge.tree.prepare import prepare_bare, prepare_warm, wanted_preparation
from fleet.verbs.merge.tree.verify import check_out_submodules, verify_command, verify_merge
from fleet.verbs.merge.tree.warm import renew_warm_tree, take_warm_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.model.dispatch.claim import Claim
    from fleet.resources.kind import Order
    from fleet.resources.worktree.prepare import Preparation
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.verbs.merge.tree.merging import MergedOrder
    from fleet.verbs.merge.tree.warm import TakenWarmTree
    from fleet.world.files.locks import FileLock

# Seconds to wait for a git of an earlier merge.
_LOCK_WAIT = 60.0


@record(frozen=True, slots=True, kw_only=True)
class _MergeAttempt:
    """The orders to merge, and what their verify command needs.

    `command` is the verify command, None when nothing is verified. `advice` tells a person how to resolve a conflict.
    """

    orders: Sequence[Order]
    # The preparation of the tree; None when a bare tree is enough, or nothing is verified.
    wanted: Preparation | None
    command: str | None
    advice: str

    @property
    def first(self) -> Order:
        """The order whose finisher owns the tree and the processes of setup and verify."""
        return self.orders[0]


def merge_and_verify(
    context: Context, orders: Sequence[Order], *, verify: bool = True, advice: str = ""
) -> list[MergedOrder]:
    """Merge the orders one on top of another into the base of the first, and verify the last commit once.

    Returns the merges that were made; of several orders, those that conflict with the ones before them are left out.
    Raises NotMergeable when the first conflicts, NotVerified when verify failed on the merged files or the merged work
    broke setup, and SetupFailed when setup failed for another reason. A single order whose setup or verify fails in a
    tree that was used before is tried once more in a new tree.
    """
    command = verify_command(context, orders[0]) if verify else None
    wanted = wanted_preparation(context, orders[0]) if command else None
    attempt = _MergeAttempt(orders=orders, wanted=wanted, command=command, advice=advice)
    warm = take_warm_tree(context, attempt.first) if wanted else None
    if warm is None:
        return _merge_in_scratch(context, attempt)
    try:
        return _merge_in_warm(context, attempt, warm)
    except (errors.NotVerified, errors.SetupFailed):
        if not warm.used or len(orders) > 1:
            raise
    return _merge_in_new(context, attempt, warm)


def _merge_in_warm(context: Context, attempt: _MergeAttempt, warm: TakenWarmTree) -> list[MergedOrder]:
    """Merge the orders in the project's warm tree, prepare the tree and verify.

    When git cannot reset the tree or merge in it, do so in a new tree. Git refuses, for example, to merge work with a
    file that an earlier setup has made in the tree.
    """
    if warm.used and not _reset_warm_tree(context, attempt.first, warm):
        return _merge_in_new(context, attempt, warm)
    try:
        made = _merge_orders(context, attempt, warm.claim)
    except errors.GitRefused:
        if not warm.used:
            raise
        return _merge_in_new(context, attempt, warm)
    check_out_submodules(context, attempt.first, warm.claim.name)
    if attempt.wanted is not None:
        wanted = replace(attempt.wanted, path=warm.claim.name)
        prepare_warm(context, attempt.first, warm, wanted, made[-1].commit)
    _verify_last(context, attempt, warm.claim, made)
    return made


def _merge_in_new(context: Context, attempt: _MergeAttempt, warm: TakenWarmTree) -> list[MergedOrder]:
    """Replace the warm tree by a new one and merge there; if that is not possible, merge in a tree that is removed afterwards."""
    fresh = renew_warm_tree(context, attempt.first, warm)
    return _merge_in_scratch(context, attempt) if fresh is None else _merge_in_warm(context, attempt, fresh)


def _merge_in_scratch(context: Context, attempt: _MergeAttempt) -> list[MergedOrder]:
    """Merge and verify the orders in a new worktree, and remove it afterwards.

    The worktree is a claim of the first order's finisher. Returns and raises as `merge_and_verify` does.
    """
    first = attempt.first
    claim = intent(context, KINDS["merge_tree"], first)
    context.commit(_record_intent(first, claim))
    create_and_record(context, [claim], first)
    try:
        made = _merge_orders(context, attempt, claim)
        if attempt.command:
            check_out_submodules(context, first, claim.name)
        if attempt.wanted is not None:
            prepare_bare(context, first, replace(attempt.wanted, path=claim.name), made[-1].commit)
        _verify_last(context, attempt, claim, made)
    finally:
        release(context, replace(claim, state="live"))  # anything not released here is released with the finisher
    return made


def _verify_last(context: Context, attempt: _MergeAttempt, claim: Claim, made: list[MergedOrder]) -> None:
    """Run the verify command, if there is one, on the last merge commit."""
    if attempt.command:
        verify_merge(context, attempt.first, claim.name, made[-1].commit, attempt.command)


def _merge_orders(context: Context, attempt: _MergeAttempt, claim: Claim) -> list[MergedOrder]:
    """Merge the orders in a tree while holding the tree's effect lock.

    git inherits the lock, which therefore stays held if git outlives this process.
    """
    lock = context.world.effect_lock(claim.id)
    handle = _take_effect_lock(lock, claim)
    try:
        return merge_in_turn(context, claim.name, attempt.orders, advice=attempt.advice, lock=handle)
    finally:
        lock.give()


def _reset_warm_tree(context: Context, order: Order, warm: TakenWarmTree) -> bool:
    """Reset the warm merge tree to the order's base, holding its effect lock. Returns False when git could not."""
    lock = context.world.effect_lock(warm.claim.id)
    handle = _take_effect_lock(lock, warm.claim)
    try:
        return reset(context.world, warm.claim.name, order.base or "", keep=[*warm.copied, *warm.made], lock=handle)
    finally:
        lock.give()


def _take_effect_lock(lock: FileLock, claim: Claim) -> int:
    """Take the effect lock of a merge tree and return its descriptor, which git inherits.

    Raise Contested when a git process that outlived its caller still works in the tree after a minute.
    """
    try:
        return lock.take(_LOCK_WAIT)
    except BlockingIOError:
        raise errors.Contested(what=f"{claim}: a git of an earlier merge still works in it; try again") from None


def _record_intent(order: Order, claim: Claim) -> Change[None]:
    """Return the change that records the claim on the tree of a finisher."""

    def work(tx: Tx) -> None:
        tx.about(order.project, order.slug)
        tx.dispatch = order.dispatch
        bundles.add_claim(tx, claim)
        tx.note(claim=str(claim))

    return Change(f"make {claim}", work)
