"""Recap: what has happened since a time, read from the operations and tables of the store."""

from __future__ import annotations

from fleet.model.dispatch.steps import INTERRUPTED
from fleet.model.results.views import MergedTaskView, Recap, SettledView, Spent
from fleet.model.text.times import iso
from fleet.store import queries as q
from fleet.verbs.tasks import review
from fleet.verbs.views.operations import facts_of
from fleet.verbs.views.overview import questions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.store.queries import SettledDispatch
    from fleet.store.transaction import Rows


def recap(rows: Rows, *, since: int, now: int, project: str | None = None) -> Recap:
    """Return what was merged, failed, was blocked or interrupted since a time, and what the agents have cost.

    Of reviews and questions, all that wait now are returned. The times are in milliseconds; `project` None means all
    projects.
    """
    operations = [(row, facts_of(row.what)) for row in q.settled_since(rows, since=since, project=project)]
    settled = [_settled_view(row, facts) for row, facts in operations if _is_counted_end(row, facts)]
    blocked = [dispatch for dispatch in settled if dispatch.exec_state == "blocked"]
    return Recap(
        since=iso(since),
        until=iso(now),
        merged=[
            MergedTaskView.made_of(row, merged_at=iso(row.merged_at))
            for row in q.merged_since(rows, since=since, project=project)
        ],
        review=review.waiting(rows, project),
        asked=questions(rows, project),
        failed=[dispatch for dispatch in settled if dispatch.exec_state == "failed"],
        blocked=[dispatch for dispatch in blocked if not _is_interrupted(dispatch)],
        interrupted=[dispatch for dispatch in blocked if _is_interrupted(dispatch)],
        spent=_total_cost(rows, since, project),
    )


def _is_counted_end(row: SettledDispatch, facts: dict[str, Any]) -> bool:
    """Return whether the recap counts an operation as the end of a dispatch.

    It does when `facts` has the state in which the dispatch ended, except for a coordinator that was asked to exit.
    """
    return "exec_state" in facts and not (row.slug is None and facts.get("asked_for"))


def _settled_view(row: SettledDispatch, facts: dict[str, Any]) -> SettledView:
    """Return the end of a dispatch as the recap shows it."""
    return SettledView.made_of(row, at=iso(row.at), exec_state=facts["exec_state"], reason=facts.get("reason"))


def _is_interrupted(blocked: SettledView) -> bool:
    """Return whether a blocked dispatch was interrupted, by its reason."""
    return (blocked.reason or "").startswith(INTERRUPTED)


def _total_cost(rows: Rows, since: int, project: str | None) -> Spent:
    """Return the tokens and dollars of all agents that worked since a time, archived ones included.

    They are counted from the files that engines write; for an agent without such files, its engine's report is used.
    """
    counted = {row.dispatch: row for row in q.used_by_agents_since(rows, since=since, project=project)}
    costs = [(row.dispatch, row.cost, row.tokens) for row in q.spending(rows, since=since, project=project)]
    for row in q.archived_since(rows, since=since, project=project):
        facts = facts_of(row.what)
        costs.append((row.dispatch, facts.get("cost"), facts.get("tokens")))
    reported = [
        (cost or 0, tokens or 0)
        for ident, cost, tokens in costs
        if ident not in counted and (cost, tokens) != (None, None)
    ]
    known = [*reported, *((row.cost, row.tokens) for row in counted.values())]
    return Spent(
        agents=len(known),
        tokens=sum(tokens for _cost, tokens in known),
        dollars=round(sum(cost for cost, _tokens in known) / 1_000_000, 2),
        unpriced=sum(row.unpriced for row in counted.values()),
    )
