"""Find the conditions that a person is to be told of now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.model.agents.notices import conditions
from fleet.store import queries as q
from fleet.verbs.views.at_work import read_unfinished, view_agents
from fleet.verbs.views.status import find_needs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fleet.model.agents.notices.conditions import Condition
    from fleet.model.states import NoticeKind
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Context

# States that do not tell what the agent does: it may be waiting for a person.
_UNTOLD_STATES = frozenset({"unknown", "running"})
# How many tasks of each kind are read at most.
_MOST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenConditions:
    """The conditions that hold at one moment, and the ids of the agents whose state is not known then (`unsure`)."""

    conditions: list[Condition]
    unsure: frozenset[str]


def look_for_conditions(context: Context, kinds: list[NoticeKind]) -> SeenConditions:
    """Return the conditions of these kinds that hold now. tmux is asked only while agents are at work.

    If several homes share a store, each home reports only what its own agents need.
    """
    needs: list[Condition] = []
    unsure: frozenset[str] = frozenset()
    if "needs you" in kinds:
        unfinished = context.store.read(read_unfinished)
        agents = view_agents(context, unfinished)
        home = context.world.record.id
        others = {row.id for row in context.store.read(lambda rows: q.dispatches_of_other_homes(rows, home=home))}
        found = [each for each in find_needs(context, agents, unfinished) if each.dispatch not in others]
        needs = [conditions.need(each, home=home) for each in found]
        unsure = frozenset(agent.id for agent in agents if agent.state in _UNTOLD_STATES)
    now = context.world.clock.now()
    stored = context.store.read(lambda rows: [each for kind in kinds for each in _READERS[kind](rows, now)])
    return SeenConditions(conditions=[*needs, *stored], unsure=unsure)


def _failed_work(rows: Rows, now: int) -> Iterator[Condition]:
    """Yield a condition for each task and job that failed recently enough for a notice. `now` is in milliseconds."""
    yield from map(conditions.failed_task, q.failed_task_news(rows, since=now - conditions.NEWS))
    yield from map(conditions.failed_job, q.failed_jobs(rows, since=now - conditions.NEWS))


def _waiting_reviews(rows: Rows, _now: int) -> Iterator[Condition]:
    """Yield a condition for each task that waits for a person's review."""
    yield from map(conditions.waiting_review, q.review_queue(rows, project=None, most=_MOST))


def _blocked_tasks(rows: Rows, _now: int) -> Iterator[Condition]:
    """Yield a condition for each blocked task."""
    yield from map(conditions.blocked_task, q.blocked_tasks(rows, project=None, most=_MOST))


def _no_conditions(_rows: Rows, _now: int) -> Iterator[Condition]:
    """Yield nothing: the conditions of this kind come from the agents, not from the store."""
    yield from ()


_READERS: dict[NoticeKind, Callable[[Rows, int], Iterator[Condition]]] = {
    "needs you": _no_conditions,  # found by looking at the agents, not in the store
    "failed": _failed_work,
    "review": _waiting_reviews,
    "blocked": _blocked_tasks,
}
