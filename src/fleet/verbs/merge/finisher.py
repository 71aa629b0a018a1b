"""Run a finisher: merge a commit into a branch, in a worktree that fleet owns.

Merges, rehearsals and jobs all use it. A finisher is a dispatch, but it runs in the current process. When the process
is killed, a later command settles the finisher and releases its worktree, and asks git whether the branch was moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import task_branch
from fleet.model.dispatch.steps import EXEC_STEPS, is_asked_to_exit, is_in_flight, owner
from fleet.model.results.merge import Merged
from fleet.model.tables import change
from fleet.model.text.times import SECOND, duration
from fleet.resources.kind import Order
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change
from fleet.verbs.dispatch.reclaim import reclaim, release_bundle
from fleet.verbs.homes.ownership import note_home
from fleet.verbs.merge.tree.attempt import merge_and_verify
from fleet.verbs.sweep import trash

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.store.queries import TaskState
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
        git_limit=duration(context.settings().git_limit) / SECOND,
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
    """Merge and verify the order's commit, move the branch, release the worktree. Returns the merge commit.

    `move` moves the branch to the merge commit, and returns False when the branch is no longer at the order's base.
    Without `move` this is a rehearsal: no branch is moved, and the finisher ends as done even if NotMergeable is
    raised. `park` is called in the transaction that ends a failed finisher; it may park the task, and returns the stage
    at which it parked the task, else None. `advice` tells a person how to resolve a conflict, where no agent can be
    started for it.

    Raises Refused when an agent works on the task or the branch has moved, and what `merge_and_verify` raises, such as
    NotMergeable on a conflict.
    """
    begin_finisher(context, order)
    try:
        merge_commit = merge_and_verify(context, [order], verify=verify, advice=advice)[-1].commit
        if move is not None and not move(merge_commit):
            raise errors.Refused(what=f"the branch {order.integration} moved meanwhile; nothing was merged, try again")
    except KeyboardInterrupt:
        end_interrupted(context, order)
        raise
    except (errors.FleetError, OSError) as error:
        if move is None and isinstance(error, errors.NotMergeable):
            end_finisher(context, order, "done")
        else:
            end_finisher(context, order, "failed", error, park)
        raise
    end_finisher(context, order, "done")
    return merge_commit


def begin_finisher(context: Context, order: Order) -> None:
    """Record the finisher's dispatch as in flight. Raises Refused when an agent works on the task."""
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
        tx.note(kind=order.kind, integration=order.integration, base=order.base)

    context.commit(Change(f"merge {order.project}/{order.slug} as {order.dispatch}", work))


def end_finisher(
    context: Context, order: Order, state: str, error: Exception | None = None, park: Park | None = None
) -> None:
    """End the finisher's dispatch in `state` ("done" or "failed"), and release the worktree of the merge.

    `error` is why the merge failed, None when it did not. With an error, `park` is called in the transaction and may
    park the task. If somebody else has ended the dispatch meanwhile, for example by disowning it, this only releases
    the worktree.
    """

    def work(tx: Tx) -> None:
        if not _end_dispatch(tx, order, state, str(error) if error else None):
            tx.note(finisher="ended by somebody else")
            return
        tx.note(
            exec_state=state,
            reason=str(error) if error else None,
            stage=park(tx, error) if error and park else None,
        )

    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=order.dispatch))
    if row is not None and is_in_flight(row):
        context.commit(Change(f"end finisher {order.dispatch}: {state}", work))
    reclaim(context, order.dispatch)


def end_interrupted(context: Context, order: Order) -> None:
    """End the finisher of an interrupted merge as failed.

    Do nothing when somebody has asked the finisher to exit: whoever asked settles it, and records the reason.
    """
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=order.dispatch))
    if row is not None and not is_asked_to_exit(row):
        end_finisher(context, order, "failed", errors.FleetError(what="interrupted"))


def _end_dispatch(tx: Tx, order: Order, state: str, reason: str | None) -> bool:
    """End the finisher's dispatch with this state and reason; return False when it has ended already.

    A request to exit that was made meanwhile does not change the state, because the merge is over.
    """
    tx.about(order.project, order.slug)
    tx.dispatch = order.dispatch
    row = q.dispatch_by_id(tx, id=order.dispatch)
    if row is None or not is_in_flight(row):
        return False
    ended = q.end_dispatch(
        tx,
        id=order.dispatch,
        at=tx.at,
        **change(EXEC_STEPS, row.exec_state, f"settled_{state}"),
        reason=reason,
        work=order.work,
        report=row.report,
        asked_for=row.asked_for,
        exit_status=None,
    )
    return ended == 1


def is_unchanged(now: TaskState, was: TaskState) -> bool:
    """Return whether a task still has the status, stage, assignee and reported commit that it had in `was`."""
    return all(getattr(now, name) == getattr(was, name) for name in ("status", "stage", "assignee", "work"))


def record_merge(
    context: Context, project: str, slug: str, *, commit: str, facts: dict[str, str] | None = None
) -> Merged:
    """Record that the work of a task is merged as `commit`; archive the task and release its worktree.

    `facts` are the columns integration, made, work and base of a row in the table `merges`. None, for work that was
    merged by a pull request, adds no row. Returns the merge, with what could not be released in `left`.
    """
    commit_merge(context, project, slug, commit=commit, facts=facts)
    return release_merged(context, project, slug, commit=commit)


def commit_merge(
    context: Context,
    project: str,
    slug: str,
    *,
    commit: str,
    facts: dict[str, str] | None,
    finisher: Order | None = None,
) -> None:
    """Record a merge and archive its task. In the same transaction, end the dispatch of `finisher`, if one is given.

    `facts` is as in `record_merge`. The merge is recorded also when somebody else has ended that dispatch meanwhile,
    because the branch has the work.
    """

    def work(tx: Tx) -> None:
        tx.about(project, slug)
        if finisher is not None and _end_dispatch(tx, finisher, "done", None):
            tx.note(exec_state="done", reason=None, stage=None)
        moved, freed = tasks.merge(tx, project, slug, commit)
        if moved and facts is not None:
            q.add_merge(tx, seq=tx.seq, project=project, slug=slug, at=tx.at, **facts)
        archived = q.archive_task(tx, project=project, slug=slug, at=tx.at) == 1
        tx.note(merged=commit, archived=archived, ready=freed)

    context.commit(Change(reason_of_merge(project, slug, commit), work))


def reason_of_merge(project: str, slug: str, commit: str) -> str:
    """Return the reason of the operation that records the merge of a task as this commit."""
    return f"{project}/{slug} is merged as {commit[:12]}"


def release_merged(context: Context, project: str, slug: str, *, commit: str, finisher: Order | None = None) -> Merged:
    """Release what a merged task and its finisher still hold.

    Returns the merge, with what could not be released in `left`.
    """
    if finisher is not None:
        reclaim(context, finisher.dispatch)
    left = release_bundle(context, project, slug)
    last = context.store.read(lambda rows: q.last_of_task(rows, project=project, slug=slug))
    if last is not None:
        left = reclaim(context, last.id) or left
    aside = trash.describe_trash(context, project, slug)
    return Merged(project=project, task=slug, commit=commit, changed=True, left=left, aside=aside)
