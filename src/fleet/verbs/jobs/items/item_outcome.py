"""Decide the next state of an item after an attempt, and whether the job pauses because many items fail alike."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from fleet.model.jobs import items
from fleet.model.text import escapes
from fleet.store import queries as q
from fleet.verbs.jobs.records import FailedAttempt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.model.jobs.workflow import Workflow
    from fleet.model.states import ItemState
    from fleet.store.queries import Item, Job, JobStep
    from fleet.verbs.context import Context

# The state of a failed item that is not tried again, for each value of `on_failure`.
_STATES: dict[str, ItemState] = {"dlq": "dead", "skip": "skipped", "stop": "dead"}
# How many characters of a failure's reason are kept.
_REASON = 6_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemOutcome:
    """The outcome of one attempt at an item.

    `where` names what failed, such as "map step 2" or "dispatch". `signature` is the same for failures that are alike;
    None lets it be computed. `parked`: the item is to be parked instead of tried again.
    """

    passed: bool
    where: str
    reason: str
    signature: str | None = None
    parked: bool = False


class ItemAttempt(NamedTuple):
    """An attempt that has ended. `steps` is empty when the item's own session has recorded them."""

    item: Item
    outcome: ItemOutcome
    steps: Sequence[JobStep] = ()


def failure(workflow: Workflow, item: Item, outcome: ItemOutcome, *, now: int, fraction: float) -> FailedAttempt:
    """Return what to record for a failed attempt: the item waits for a retry, or gets the state that `on_failure` says.

    `fraction`, a random number from 0 to 1, spreads the times of the retries.
    """
    count = item.failures + 1
    again = item.part == "map" and count < workflow.map.retry.attempts and not outcome.parked
    data = json.loads(item.data)
    return FailedAttempt(
        item=item,
        state="waiting" if again else _state_of_failed(workflow, item, outcome),
        reason=escapes.cut(outcome.reason, _REASON),
        signature=outcome.signature or items.signature(outcome.where, outcome.reason, data),
        where=outcome.where,
        not_before=now + workflow.map.retry.wait(count, fraction) if again else None,
    )


def _state_of_failed(workflow: Workflow, item: Item, outcome: ItemOutcome) -> ItemState:
    """Return the state of a failed item that is not tried again: dead, parked, or what the job's `on_failure` says."""
    if item.part != "map":
        return "dead"
    return "parked" if outcome.parked else _STATES[workflow.map.on_failure]


def why_pause(context: Context, job: Job, workflow: Workflow) -> str | None:
    """Return why the job has to pause because many items failed alike; None when it can continue.

    It pauses when at least as many items failed alike as the workflow's `breaker` says, and they are more than half of
    the items that were tried since the runner began.
    """
    if not workflow.map.breaker:
        return None
    alike = context.store.read(lambda rows: q.failures_alike(rows, job=job.id, since=job.begun_at))
    if alike is None or alike.n < workflow.map.breaker:
        return None
    tried = context.store.read(lambda rows: q.items_tried(rows, job=job.id, since=job.begun_at)).n
    return f"{alike.n} of {tried} items failed alike: {alike.signature}" if alike.n * 2 > tried else None
