"""The statuses of a task, and the table of the steps between them.

Ready and waiting are computed, and archived is a flag: these three are not statuses.
"""

from __future__ import annotations

from fleet import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from fleet.model.states import TaskStatus

    Event = Literal["claim", "unclaim", "done", "fail", "block", "retry", "abandon"]
    # The verdicts of a review, given by a person or a reviewer.
    VerdictEvent = Literal["accept", "send_back"]
    # go_on: the next stage, a fix, or a successor takes over. park: the task cannot be merged. The last four: a job's item changed.
    OwnEvent = Literal[
        "go_on", "resume", "accept", "send_back", "merge", "park", "item_started", "item_done", "item_failed", "item_abandoned"
    ]  # fmt: skip

STATUSES: tuple[TaskStatus, ...] = ("open", "in_progress", "blocked", "done", "failed", "abandoned")
EVENTS: tuple[Event, ...] = ("claim", "unclaim", "done", "fail", "block", "retry", "abandon")

# Verdicts, and events that fleet itself causes.
OWN_EVENTS: tuple[OwnEvent, ...] = (
    "go_on", "resume", "accept", "send_back", "merge", "park", "item_started", "item_done", "item_failed", "item_abandoned"
)  # fmt: skip

# A dependency with one of these statuses blocks no task.
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
    ("in_progress", "go_on"): "in_progress",
    ("blocked", "go_on"): "in_progress",
    ("blocked", "resume"): "in_progress",
    ("failed", "resume"): "in_progress",
    ("open", "accept"): "in_progress",  # accept and send_back: only at the stage review
    ("in_progress", "accept"): "in_progress",
    ("blocked", "accept"): "in_progress",
    ("open", "send_back"): "blocked",
    ("in_progress", "send_back"): "blocked",
    ("blocked", "send_back"): "blocked",
    ("open", "park"): "blocked",
    ("in_progress", "park"): "blocked",
    ("blocked", "park"): "blocked",
    ("done", "park"): "blocked",
}
# Allowed from every status: git has the work (merge), or the task's item in a job has changed.
STEPS |= {(status, "merge"): "done" for status in STATUSES}
STEPS |= {(status, "item_started"): "open" for status in STATUSES}
STEPS |= {(status, "item_done"): "done" for status in STATUSES}
STEPS |= {(status, "item_failed"): "failed" for status in STATUSES}
STEPS |= {(status, "item_abandoned"): "abandoned" for status in STATUSES}

_ADVICE = {
    "claim": "only an open task can be claimed; `fleet task retry` opens an ended one",
    "unclaim": "only a task in progress can be given back",
    "retry": "only a blocked or ended task can be retried",
}


def step(project: str, slug: str, status: str, event: str) -> TaskStatus:
    """Return the status of a task after an event; raise IllegalStep when the table does not allow the event."""
    after = STEPS.get((status, event))
    if after is None:
        advice = _ADVICE.get(event, "`fleet task retry` opens it again")
        raise errors.IllegalStep(event=event, project=project, slug=slug, status=status, advice=advice)
    return after


def blockers_change(before: str, after: str) -> int:
    """Return how a change of a task's status changes the number of open blockers of each task that waits for it.

    -1: the task no longer blocks them. 1: it blocks them again. 0: no change.
    """
    return (before in SATISFIED) - (after in SATISFIED)
