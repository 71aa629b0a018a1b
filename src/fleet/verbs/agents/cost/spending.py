"""Sum what agents have used, for the views."""

from __future__ import annotations

from fleet.model.agents.budgets import MILLIONTHS, day_of
from fleet.model.results.agents import Cost
from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.queries import DispatchUsage, Used
    from fleet.store.transaction import Rows


NOTHING = Cost(tokens=0, dollars=0.0, unpriced=0)


def cost_view(used: Used | DispatchUsage) -> Cost:
    """Return a sum of tokens as a `Cost`, with dollars in place of millionths."""
    return Cost(tokens=used.tokens, dollars=round(used.cost / MILLIONTHS, 4), unpriced=used.unpriced)


def cost_of_task(rows: Rows, project: str, slug: str) -> Cost:
    """Return the tokens and dollars that all attempts at a task have used."""
    return cost_view(q.used_by_task(rows, project=project, slug=slug))


def cost_before_handoffs(rows: Rows, project: str, slug: str) -> Cost:
    """Return the tokens and dollars of a task's agents for which a handoff was requested, whatever became of it."""
    return cost_view(q.used_before_handoffs(rows, project=project, slug=slug))


def cost_of_project(rows: Rows, project: str) -> Cost:
    """Return the tokens and dollars that all agents of a project have used."""
    return cost_view(q.used_by_project(rows, project=project))


def cost_of_day(rows: Rows, now: int) -> Cost:
    """Return the tokens and dollars that all agents have used on the day of `now`, in this machine's time zone."""
    return cost_view(q.used_on_day(rows, day=day_of(now)))
