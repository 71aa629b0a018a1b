"""The dead-letter queue: items that could not be done or not be merged, with their history; to be tried again or dropped."""

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

QUEUED: tuple[ItemState, ...] = ("dead", "parked")
_DROPPED = "dropped by a person"


def queue(context: Context, ident: str) -> list[ItemView]:
    """What is in it, in the order of the items."""
    return [results.item_view(row) for row in _queued(context, ident)]


def _queued(context: Context, ident: str) -> list[Item]:
    return [row for state in QUEUED for row in results.pages(context, ident, state)]


def _chosen(context: Context, ident: str, given: tuple[str, ...], *, everything: bool) -> list[Item]:
    if everything == bool(given):
        raise errors.Refused(what="name the items, or say --all")
    if everything:
        return _queued(context, ident)
    chosen = [listing.find_item(context, ident, each) for each in given]
    strange = next((row for row in chosen if row.state not in QUEUED), None)
    if strange is not None:
        raise errors.Refused(what=f"item {strange.id} is {strange.state}, not in the dead-letter queue")
    return chosen


def retry(context: Context, ident: str, given: tuple[str, ...], *, everything: bool) -> ItemsRevived:
    """Put items back into the job, which is to be resumed then; a runner that has it in hand takes them up by itself."""
    job = context.store.read(lambda rows: records.job_of(rows, ident))
    refuse_foreign(context, f"job {ident}", job)
    if job.state == "cancelled":
        raise errors.Refused(what=f"job {ident} was cancelled; run it under another id")
    which = [row.id for row in _chosen(context, ident, given, everything=everything)]

    def work(tx: Tx) -> ItemsRevived:
        tx.about(job.project)
        now = records.job_of(tx, ident)
        if now.state == "running" and now.phase in {"reduce", "over"}:
            advice = f"say it again when it is over (`fleet job resume {ident}` if its runner is gone)"
            raise errors.Refused(what=f"job {ident} is reducing already; {advice}")
        revived = target(items.STEPS, "revive")
        moved = [item for item in which if q.revive_item(tx, job=ident, id=item, after=revived)]
        if moved and now.state != "running":
            reason = f"{len(moved)} item(s) are to be tried again"
            q.reopen_job(tx, id=ident, after=target(items.JOB_STEPS, "reopen"), reason=reason, at=tx.at)
            records.reset_part(tx, ident, "reduce")
        tx.note(job=ident, items=moved)
        return ItemsRevived(job=ident, items=moved, state=records.job_of(tx, ident).state)

    return context.commit(Change(f"job {ident}: try {len(which)} item(s) again", work, returns=ItemsRevived))


def drop(context: Context, ident: str, given: tuple[str, ...], *, everything: bool) -> ItemsDropped:
    """Give items up: their worktrees go, with what is not committed kept in refs of their own."""
    job = context.store.read(lambda rows: records.job_of(rows, ident))
    refuse_foreign(context, f"job {ident}", job)
    which = [row.id for row in _chosen(context, ident, given, everything=everything)]

    def work(tx: Tx) -> list[str]:
        tx.about(job.project)
        dropped = target(items.STEPS, "drop")
        moved = [item for item in which if q.drop_item(tx, job=ident, id=item, after=dropped, reason=_DROPPED)]
        tx.note(job=ident, items=moved)
        return moved

    moved = context.commit(Change(f"job {ident}: drop {len(which)} item(s)", work))
    left = [why for item in moved for why in merge_item.let_go(context, job, item, status="failed", reason=_DROPPED)]
    return ItemsDropped(job=ident, items=moved, left=left)
