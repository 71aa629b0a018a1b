"""Run a finisher: merge a commit into a branch, in a worktree of fleet's own.

Merges, rehearsals and jobs all use it. A finisher is a dispatch, but it runs in the current process. When the process
is killed, a later command settles the finisher and releases its worktree, and asks git whether the branch was moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import task_branch
from fleet.model.dispatch.steps import EXEC_STEPS, owner
from fleet.model.tables import change
from fleet.model.text.times import SECOND, duration
from fleet.resources import KINDS
from fleet.resources.kind import Order
from fleet.store import bundles
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.dispatch.acquire import acquire, intent
from fleet.verbs.dispatch.reclaim import reclaim
from fleet.verbs.homes.ownership import note_home
from fleet.verbs.merge.merge_tree import merge_in_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.dispatch.claim import Claim
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context

    Move = Callable[[str], bool]
    Park = Callable[[Tx, Exception], str | None]


def order_for(context: Context, project: str, slug: str, *, integration: str, base: str, work: str) -> Order:
    """Return the order for a finisher that merges the commit `work` into the branch `integration`, now at `base`."""
    return Order(
        dispatch=context.world.ids.dispatch(),
        kind="finisher",
        project=project,
        slug=slug,
        repository=context.project(project).path,
        branch=task_branch(slug),
        base=base,
        work=work,
        integration=integration,
        git_limit=duration(context.setting("git_limit")) / SECOND,
    )


def finish(
    context: Context,
    order: Order,
    *,
    move: Move | None,
    park: Park | None = None,
    verify: bool = True,
    advice: str = "",
) -> str:
    """Merge and verify the order's commit, move the branch, release the worktree. Return the merge commit.

    `move` moves the branch to the merge commit, and returns False when the branch has left the order's base. None is for a
    rehearsal: no branch is moved, and NotMergeable is a result, so the finisher still ends as done.
    `park` is called in the transaction that ends a failed finisher; it may park the task, and returns the stage or None.
    `advice` tells a person how to resolve a conflict, where no agent can be started for it.
    """
    claim = intent(context, KINDS["merge_tree"], order)
    _begin_finisher(context, order, claim)
    try:
        acquire(context, [claim], order)
        merge_commit = merge_in_tree(context, order, claim, verify=verify, advice=advice)
        if move is not None and not move(merge_commit):
            raise errors.Refused(what=f"the branch {order.integration} moved meanwhile; nothing was merged, try again")
    except KeyboardInterrupt:
        _end_finisher(context, order, "failed", errors.FleetError(what="interrupted"))
        raise
    except (errors.FleetError, OSError) as error:
        if move is None and isinstance(error, errors.NotMergeable):
            _end_finisher(context, order, "done")
        else:
            _end_finisher(context, order, "failed", error, park)
        raise
    _end_finisher(context, order, "done")
    return merge_commit


def _begin_finisher(context: Context, order: Order, claim: Claim) -> None:
    """Record the finisher's dispatch as in_flight, and the claim on its worktree as allocating."""
    world, me = context.world, str(context.world.processes.me())

    def work(tx: Tx) -> None:
        tx.about(order.project, order.slug)
        tx.dispatch = order.dispatch
        if not q.reserve_id(tx, id=order.dispatch, at=tx.at):
            raise errors.Contested(what=f"the id {order.dispatch} was given out before; try again")
        note_home(tx, world)
        written = q.add_dispatch(
            tx,
            id=order.dispatch,
            kind=order.kind,
            project=order.project,
            slug=order.slug,
            owner=owner(project=order.project, slug=order.slug),
            host=world.host.id,
            home=world.record.id,
            tmux_socket=world.tmux.socket,
            at=tx.at,
            base=order.base,
            spawner=me,
            **dict.fromkeys(("server", "engine", "autonomy", "model", "command", "predecessor")),
        )
        if not written:
            raise errors.Refused(
                what=f"{order.project}/{order.slug} has an agent at work; merge it when that agent has ended"
            )
        q.launch_dispatch(tx, id=order.dispatch, process=me, at=tx.at, **change(EXEC_STEPS, "pending", "launched"))
        bundles.add_claim(tx, claim)
        tx.note(kind=order.kind, integration=order.integration, base=order.base)

    context.commit(Change(f"merge {order.project}/{order.slug} as {order.dispatch}", work))


def _end_finisher(
    context: Context, order: Order, state: str, error: Exception | None = None, park: Park | None = None
) -> None:
    """End the finisher's dispatch, park the task in the same transaction if `park` is given, and release the worktree."""
    reason, step = str(error) if error else None, change(EXEC_STEPS, "in_flight", f"settled_{state}")

    def work(tx: Tx) -> None:
        tx.about(order.project, order.slug)
        tx.dispatch = order.dispatch
        q.end_dispatch(
            tx,
            id=order.dispatch,
            at=tx.at,
            before=step["before"],
            after=step["after"],
            reason=reason,
            work=order.work,
            report=None,
            asked_for=None,
            exit_status=None,
        )
        tx.note(exec_state=state, reason=reason, stage=park(tx, error) if error and park else None)

    context.commit(Change(f"end finisher {order.dispatch}: {state}", work))
    reclaim(context, order.dispatch)
