"""Brief a coordinator at each tick: the state of its project in a few lines, and its waiting messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.model.results.coord import AtWork, Briefing, Trouble
from fleet.model.results.reports import Received
from fleet.model.text import escapes
from fleet.store import queries as q
from fleet.store.transaction import Change

if TYPE_CHECKING:
    from fleet.store.queries import TaskTrouble
    from fleet.store.transaction import Rows, Tx
    from fleet.verbs.context import Context

_MOST_TASKS = 20
_MOST_REASON = 300


def briefing(rows: Rows, project: str, now: int) -> Briefing:
    """Return the state of a project for its coordinator: agents at work, queued handoffs, and the tasks to act on.

    The tasks to act on are ready (at most 20), wait for a review or merge, or have failed or are blocked (at most 20).
    `now` is in milliseconds.
    """
    working = q.listed_dispatches(rows, project=project, ended=0)
    return Briefing(
        working=[AtWork(id=row.id, kind=row.kind, task=row.slug) for row in working if row.kind != "coord"],
        ready=[row.slug for row in q.ready_tasks(rows, project=project, now=now, most=_MOST_TASKS)],
        to_review=[row.slug for row in q.waiting_stages(rows, project=project) if row.stage == "review"],
        to_merge=[row.slug for row in q.mergeable_tasks(rows, project=project)],
        trouble=[_trouble_of(row) for row in q.trouble_of(rows, project=project, most=_MOST_TASKS)],
        handoffs=[row.dispatch for row in q.queued_handoffs(rows, project=project)],
    )


def _trouble_of(row: TaskTrouble) -> Trouble:
    """Return a failed or blocked task for the coordinator's briefing, with the beginning of its reason as one line."""
    reason = " ".join((row.reason or "").split())
    return Trouble(task=row.slug, status=row.status, reason=escapes.cut(reason, _MOST_REASON))


def hand_out_messages(context: Context, project: str, ident: str) -> list[Received]:
    """Return the messages that a coordinator has not acknowledged, and record that its tick delivered the new ones.

    `ident` is the coordinator's dispatch. A message is returned at each tick until it is acknowledged.
    """
    waiting = context.store.read(lambda rows: q.waiting_messages(rows, dispatch=ident))
    new = [row.id for row in waiting if row.delivered_at is None]
    if new:
        context.commit(_record_delivery(project, ident, new))
    return [Received(id=row.id, kind=row.kind, sender=row.sender, text=row.text) for row in waiting]


def _record_delivery(project: str, ident: str, ids: list[str]) -> Change[None]:
    """Return the change that records that these messages were delivered to the coordinator by a tick."""

    def work(tx: Tx) -> None:
        tx.about(project)
        tx.dispatch = ident
        for message in ids:
            q.deliver_message(tx, id=message, dispatch=ident, how="tick", at=tx.at)
        tx.note(delivered=ids)

    return Change(f"hand {len(ids)} messages to {ident}", work)
