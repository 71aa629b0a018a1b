"""Apply a remedy to a dispatch. `model/dispatch/remedies.py` decides which remedy; nothing is decided here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.dispatch.remedies import Dismiss, KillRest, Leave, Press, Settle, Withdraw, remedy_for
from fleet.model.states import assert_never
from fleet.store import queries as q
from fleet.store import seats
from fleet.store.transaction import Change
from fleet.verbs.dispatch.end import dismiss, end, kill_processes, press
from fleet.verbs.dispatch.facts import gather_facts
from fleet.verbs.dispatch.settle import settle

if TYPE_CHECKING:
    from fleet.model.dispatch.remedies import Asker, Remedy, Seen
    from fleet.model.results.dispatches import Ended
    from fleet.store.queries import Dispatch
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.world.tmux import Listing


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The result of applying a remedy to a dispatch.

    `ended`: whether the dispatch is settled. `said`: what was done, for people. `why`: why the dispatch is not settled,
    else ''. `strangers`: the unknown processes in its worktree, and `way`: what a person can do about them, both '' when
    there are none. `left`: the resources that were not released.
    """

    ended: bool
    said: str
    why: str = ""
    strangers: str = ""
    way: str = ""
    left: list[str] = field(default_factory=list)


def apply(
    context: Context,
    row: Dispatch,
    remedy: Remedy,
    *,
    wait: bool = False,
    listing: Listing | None = None,
    reclaims: bool = True,
    known: Seen | None = None,
) -> Applied:
    """Apply a remedy, which `remedy_for` has chosen, to a dispatch; return how far it came.

    With `wait`, an agent is ended in this call; without, only the next stage of ending is done: ask it to exit, wait, or
    kill. Without `reclaims`, the caller reclaims the claims of a settled dispatch. `known` are facts that were gathered
    just now, `listing` the tmux panes; None lets the remedy read them anew.
    """
    match remedy:
        case Settle():
            return _applied_from(settle(context, row.id, listing=listing, reclaims=reclaims, known=known))
        case KillRest():
            kill_processes(context, row)
            return _applied_from(settle(context, row.id, reclaims=reclaims))
        case Press() | Dismiss():
            return _apply_press(context, row, remedy, wait=wait)
        case Withdraw():
            gone = withdraw(context, row.project, row.id, remedy.why)
            return Applied(ended=False, said="withdrawn" if gone else "it was faster")
        case Leave():
            return Applied(ended=False, said="left alone", why=remedy.why, strangers=remedy.strangers, way=remedy.way)
        case _:
            return assert_never(remedy)


def _apply_press(context: Context, row: Dispatch, remedy: Press | Dismiss, *, wait: bool) -> Applied:
    """End an agent, or do the next stage of that; return how far it came.

    With `wait`, end it in this call; else do the next stage only: ask it to exit, wait, or kill. A coordinator that the
    daemon plays has no process to end; it is recorded as dismissed.
    """
    if isinstance(remedy, Dismiss):
        return _applied_from(dismiss(context, row, remedy))
    if wait:
        return _applied_from(end(context, row.id, asked_for=remedy.asked_for, reason=remedy.reason))
    result = press(context, row, remedy)
    return Applied(ended=result == "ended", said=result, why=result)


def _applied_from(ended: Ended) -> Applied:
    """Return the result of a remedy, from the result of settling the dispatch."""
    if ended.settled:
        return Applied(ended=True, said=f"ended {ended.exec_state}", left=ended.left or [])
    why, strangers, way = ended.why or "", ended.strangers or "", ended.way or ""
    return Applied(ended=False, said=f"still there: {why}", why=why, strangers=strangers, way=way)


def decide_and_apply(
    context: Context, row: Dispatch, asker: Asker, seen: Seen | None = None, *, reclaims: bool = True
) -> Applied:
    """Decide on a remedy for a dispatch from facts about it, and apply it if `asker` may apply such a remedy.

    `seen` are the facts; with None they are gathered. Without `reclaims`, the caller reclaims the claims of a settled
    dispatch.
    """
    if seen is not None:
        return apply(context, row, remedy_for(asker, seen), reclaims=reclaims)
    fresh = gather_facts(context, row, asker)
    return apply(context, row, remedy_for(asker, fresh), reclaims=reclaims, known=fresh)


def settle_attempt(context: Context, project: str, slug: str, *, speaker: str | None) -> None:
    """Settle the task's unfinished dispatch if its agent has died.

    `speaker` is the dispatch of the agent that asks, None when a person asks; a dispatch does not settle itself. Raises
    WorktreeBusy if unknown processes use the worktree.
    """
    attempt = context.store.read(lambda rows: q.unfinished_of_task(rows, project=project, slug=slug))
    if attempt is not None and attempt.id != speaker:
        applied = decide_and_apply(context, attempt, "dispatch")
        if applied.strangers:
            raise errors.WorktreeBusy(project=project, slug=slug, who=applied.strangers, way=applied.way)


def withdraw(context: Context, project: str, ident: str, why: str) -> bool:
    """Remove a candidate from the project's seat; the holder stays.

    Returns False when the dispatch is no longer the candidate: it has proven itself, or was withdrawn before.
    """

    def work(tx: Tx) -> bool:
        tx.about(project)
        gone = seats.withdraw_candidate(tx, project, ident)
        tx.note(withdrawn=ident if gone else None, why=why)
        return gone

    return context.commit(Change(f"withdraw the candidate {ident} of {project}: {why}", work))
