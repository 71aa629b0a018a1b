"""The life of a task: its statuses and the table of legal steps.

Ready and waiting are computed, archived is a flag; neither is a status.
"""

from __future__ import annotations

from fleet.errors.refused import IllegalStep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from fleet.model.states import TaskStatus

    Event = Literal["claim", "unclaim", "done", "fail", "block", "retry", "abandon"]

STATUSES: tuple[TaskStatus, ...] = ("open", "in_progress", "blocked", "done", "failed", "abandoned")
EVENTS: tuple[Event, ...] = ("claim", "unclaim", "done", "fail", "block", "retry", "abandon")

# A dependency in one of these no longer holds anybody back.
SATISFIED: frozenset[str] = frozenset({"done", "abandoned"})
TERMINAL: frozenset[str] = frozenset({"done", "failed", "abandoned"})

STEPS: dict[tuple[str, str], TaskStatus] = {
    ("open", "claim"): "in_progress",
    ("open", "done"): "done",
    ("open", "fail"): "failed",
    ("open", "block"): "blocked",
    ("open", "abandon"): "abandoned",
    ("in_progress", "unclaim"): "open",
    ("in_progress", "done"): "done",
    ("in_progress", "fail"): "failed",
    ("in_progress", "block"): "blocked",
    ("in_progress", "abandon"): "abandoned",
    ("blocked", "retry"): "open",
    ("blocked", "done"): "done",
    ("blocked", "fail"): "failed",
    ("blocked", "abandon"): "abandoned",
    ("failed", "retry"): "open",
    ("failed", "done"): "done",
    ("failed", "abandon"): "abandoned",
    ("done", "retry"): "open",
    ("abandoned", "retry"): "open",
}

_ADVICE = {
    "claim": "only an open task can be claimed; `fleet task retry` opens an ended one",
    "unclaim": "only a task in progress can be given back",
    "retry": "only a blocked or ended task can be retried",
}


def step(project: str, slug: str, status: str, event: str) -> TaskStatus:
    """The status after the event, or IllegalStep."""
    after = STEPS.get((status, event))
    if after is None:
        advice = _ADVICE.get(event, "`fleet task retry` opens it again")
        raise IllegalStep(event=event, project=project, slug=slug, status=status, advice=advice)
    return after


def blockers_change(before: str, after: str) -> int:
    """By how much the dependents' count of open blockers changes with this step."""
    return (before in SATISFIED) - (after in SATISFIED)
