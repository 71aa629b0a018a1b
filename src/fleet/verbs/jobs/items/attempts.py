"""Attempts at items that have their own worktrees: each attempt is a dispatch like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import job_branch
from fleet.model.dispatch.steps import INTERRUPTED, STOPPED
from fleet.model.identity import Identity
from fleet.model.jobs import items
from fleet.store import queries as q
from fleet.verbs.dispatch.apply_remedy import decide_and_apply
from fleet.verbs.dispatch.dispatch import dispatch
from fleet.verbs.dispatch.end import end
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.dispatch.reclaim import reclaim
from fleet.verbs.jobs import records
from fleet.verbs.jobs.items.item_outcome import ItemOutcome

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch, Item, Job
    from fleet.verbs.context import Context

# Milliseconds until the next attempt at an item that could not start, because of a limit or a lock.
_LATER = 2_000
# Seconds between two looks at an item whose process is just being started.
_LOOK_AGAIN = 0.01
# The engine that is fleet itself: it runs the steps of an item.
ENGINE = "job"


def start(context: Context, job: Job, item: Item) -> ItemOutcome | None:
    """Dispatch an attempt at an item that is recorded as running.

    Returns the outcome if the dispatch failed. Returns None if the attempt started, if an earlier runner has started
    one already, or if the item was put back to waiting for two seconds, because of a limit of agents or a lock. Raises
    StoreError.
    """
    slug = items.slug(job.id, item.id)
    wanted = Wanted(project=job.project, slug=slug, engine=ENGINE, onto=job_branch(job.id))
    try:
        started = dispatch(context, wanted)
    except (errors.LimitReached, errors.Contested):
        if _current_dispatch(context, job, item) is not None:
            return None  # an earlier runner has dispatched the item
        later = context.world.clock.now() + _LATER
        context.commit(records.put_back(job, [item.id], began=False, not_before=later))
        return None
    except errors.StoreError:
        raise
    except (errors.FleetError, OSError) as error:
        return ItemOutcome(passed=False, where="dispatch", reason=str(error))
    context.commit(records.set_dispatch(job, item.id, started.id))
    return None


def check_item(context: Context, job: Job, item: Item) -> ItemOutcome | None:
    """Return the outcome of a running item; None while its attempt runs, and when the item was put back to waiting.

    An item is put back when its attempt was interrupted. Reclaims what the attempt held, unless the item has passed:
    then `reclaim_ended` does that later.
    """
    row = _current_dispatch(context, job, item)
    if row is not None and not decide_and_apply(context, row, "job", reclaims=False).ended:
        return None
    # The session may have recorded its verdict since the item was read.
    item = context.store.read(lambda rows: q.item_by_id(rows, job=job.id, id=item.id)) or item
    if row is not None and item.verdict != "passed":
        reclaim(context, row.id)
    if item.verdict is not None:
        where, reason = (item.reason or "").partition(":")[0], item.reason or ""
        return ItemOutcome(passed=item.verdict == "passed", where=where, reason=reason, signature=item.signature)
    return _outcome_without_verdict(context, job, item, row and _current_row(context, row))


def reclaim_ended(context: Context, job: Job, item: str) -> None:
    """Reclaim what the ended attempts at an item held, except its worktree, which is released with the item."""
    place = {"project": job.project, "slug": items.slug(job.id, item)}
    for row in context.store.read(lambda rows: q.dispatches_of_task(rows, **place)):
        reclaim(context, row.id)


def wait_for_exit(context: Context, job: Job, running: list[Item], seconds: float) -> bool:
    """Wait until the process of one of these items exits, or until `seconds` have passed, and return True.

    First waits for a process that tmux is just starting. Returns False at once when an item has no dispatch, or when
    the kernel cannot report the exit of its process.
    """
    clock, processes = context.world.clock, context.world.processes
    until = clock.ticks() + seconds
    while True:
        found = [_current_dispatch(context, job, item) for item in running]
        if None in found:
            return False
        known = [who for row in found if row and (who := Identity.parse(row.process or "")) is not None]
        left = max(until - clock.ticks(), 0.0)
        if len(known) == len(found):
            return processes.wait_for_exit(known, left)
        if not left:
            return True
        if not (known and processes.wait_for_exit(known, min(left, _LOOK_AGAIN))):
            clock.wait(min(left, _LOOK_AGAIN))


def _current_row(context: Context, row: Dispatch) -> Dispatch:
    """Return the item's dispatch as it is now; the given row when the dispatch is archived already."""
    return context.store.read(lambda rows: q.dispatch_by_id(rows, id=row.id)) or row


def _current_dispatch(context: Context, job: Job, item: Item) -> Dispatch | None:
    """Return the unfinished dispatch of an item; None when there is none."""
    place = {"project": job.project, "slug": items.slug(job.id, item.id)}
    return context.store.read(lambda rows: q.unfinished_of_task(rows, **place))


def _outcome_without_verdict(context: Context, job: Job, item: Item, row: Dispatch | None) -> ItemOutcome | None:
    """Return the failure of an attempt that ended without a verdict on its item, or put the item back and return None.

    The item is put back to waiting when the attempt never began, or was interrupted because its runner or the machine
    died. The failure is marked as parked when the attempt was stopped. `row` is the dispatch that this check found
    unfinished, as it is now that it has ended; None when it found none.
    """
    slug = items.slug(job.id, item.id)
    task = context.store.read(lambda rows: q.task_whole(rows, project=job.project, slug=slug))
    reason = (row and row.blocked_reason) or (task and task.reason) or "it ended without a report"
    unbegun = task is None or task.status == "open"
    if unbegun or reason.startswith(INTERRUPTED):
        context.commit(records.put_back(job, [item.id], began=not unbegun))
        return None
    return ItemOutcome(passed=False, where="attempt", reason=reason, parked=reason == STOPPED)


def stop(context: Context, job: Job, item: Item) -> None:
    """Kill the attempt at an item, because its job was cancelled."""
    row = _current_dispatch(context, job, item)
    if row is not None:
        end(context, row.id, asked_for="kill", reason=f"job {job.id} was cancelled")
