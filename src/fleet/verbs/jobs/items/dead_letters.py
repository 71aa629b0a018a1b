"""The dead-letter queue of a job: items that failed or could not be merged, to be retried or dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.jobs import items
from fleet.model.results.jobs import ItemsDropped, ItemsRevived
from fleet.model.tables import target
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.homes.ownership import refuse_foreign
from fleet.verbs.jobs import listing, records, results
from fleet.verbs.jobs.items import merge_item

if TYPE_CHECKING:
    from fleet.model.results.jobs import ItemView
    from fleet.model.states import ItemState
    from fleet.store.queries import Item
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context

# The states of the items in the queue.
QUEUED: tuple[ItemState, ...] = ("dead", "parked")
_DROPPED = "dropped by a person"


def queue(context: Context, ident: str) -> list[ItemView]:
    """Return the items in the dead-letter queue: dead items first, then parked ones."""
    return [results.item_view(row) for row in _queued_items(context, ident)]


def _queued_items(context: Context, ident: str) -> list[Item]:
    """Return the dead items of a job, then its parked ones."""
    return [row for state in QUEUED for row in results.each_item(context, ident, state)]


def _named_items(context: Context, ident: str, given: tuple[str, ...], *, everything: bool) -> list[Item]:
    """Return the named items, or the whole queue if `everything`.

    Raises Refused for an item that is not in the queue, and when both or neither of `given` and `everything` are given;
    NoSuchItem or Ambiguous for a name that does not lead to one item.
    """
    if everything == bool(given):
        raise errors.Refused(what="name the items, or use --all")
    if everything:
        return _queued_items(context, ident)
    chosen = [listing.find_item(context, ident, each) for each in given]
    other = next((row for row in chosen if row.state not in QUEUED), None)
    if other is not None:
        raise errors.Refused(what=f"item {other.id} is {other.state}, not in the dead-letter queue")
    return chosen


def retry(context: Context, ident: str, given: tuple[str, ...], *, everything: bool) -> ItemsRevived:
    """Set items of the dead-letter queue back to waiting.

    The job's runner starts them. A job that does not run is set back to its map phase, paused: a person has to resume
    it. Items are named in `given`, or `everything` takes the whole queue. Raises Refused for a cancelled job, while the
    job runs its reduce steps, and as `_named_items` does.
    """
    job = context.store.read(lambda rows: records.job_of(rows, ident))
    refuse_foreign(context, f"job {ident}", job)
    if job.state == "cancelled":
        raise errors.Refused(what=f"job {ident} was cancelled; run it under another id")
    which = [row.id for row in _named_items(context, ident, given, everything=everything)]

    def work(tx: Tx) -> ItemsRevived:
        tx.about(job.project)
        now = records.job_of(tx, ident)
        if now.state == "running" and now.phase in {"reduce", "over"}:
            advice = f"retry when it has ended (`fleet job resume {ident}` if its runner is gone)"
            raise errors.Refused(what=f"job {ident} runs its reduce steps already; {advice}")
        revived = target(items.STEPS, "revive")
        moved = [item for item in which if q.revive_item(tx, job=ident, id=item, after=revived)]
        if moved and now.state != "running":
            reason = f"{len(moved)} item(s) are to be tried again"
            after, phase = target(items.JOB_STEPS, "reopen"), target(items.PHASE_STEPS, "reopen")
            q.reopen_job(tx, id=ident, after=after, phase=phase, reason=reason, at=tx.at)
            records.reset_part(tx, ident, "reduce")
        tx.note(job=ident, items=moved)
        return ItemsRevived(job=ident, items=moved, state=records.job_of(tx, ident).state)

    return context.commit(Change(f"job {ident}: try {len(which)} item(s) again", work, returns=ItemsRevived))


def drop(context: Context, ident: str, given: tuple[str, ...], *, everything: bool) -> ItemsDropped:
    """Take items out of the dead-letter queue for good and remove their worktrees.

    They end as skipped. Uncommitted work is kept in refs. Items are named in `given`, or `everything` takes the whole
    queue. `left` of the result says what could not be removed, and why. Raises Refused as `_named_items` does.
    """
    job = context.store.read(lambda rows: records.job_of(rows, ident))
    refuse_foreign(context, f"job {ident}", job)
    which = [row.id for row in _named_items(context, ident, given, everything=everything)]

    def work(tx: Tx) -> list[str]:
        tx.about(job.project)
        dropped = target(items.STEPS, "drop")
        moved = [item for item in which if q.drop_item(tx, job=ident, id=item, after=dropped, reason=_DROPPED)]
        tx.note(job=ident, items=moved)
        return moved

    moved = context.commit(Change(f"job {ident}: drop {len(which)} item(s)", work))
    left = [
        why for item in moved for why in merge_item.release_item(context, job, item, status="failed", reason=_DROPPED)
    ]
    return ItemsDropped(job=ident, items=moved, left=left)
