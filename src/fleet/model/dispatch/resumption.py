"""Decide which dispatches can be resumed: they ended before their work was finished, and nobody continued their task. Pure."""

from __future__ import annotations

from fleet.model.dispatch.steps import HANDED_OFF, INTERRUPTED
from fleet.model.tasks.pipeline import STAGE_OF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.agents import AgentView
    from fleet.store.queries import Dispatch, LeftAttempt, StepFacts, TaskState

# The engine of the agents of jobs.
_JOB = "job"
_ENDED_ON_PURPOSE = frozenset({"kill", "superseded", "replaced"})
_TAKEN_UP = frozenset({"done", "abandoned", "in_progress"})


def why_finished(journal: Dispatch | LeftAttempt | StepFacts, *, parked: bool = False) -> str:
    """Return why an ended dispatch leaves nothing to resume; empty when it can be resumed.

    A dispatch that was handed off cannot, unless its task is `parked`: then no successor was started, because the
    handoffs had brought no progress.
    """
    if journal.report in {"done", "failed"}:
        return f"it has finished: it reported {journal.report}"
    if journal.exec_state == "done":
        return "it has finished: it exited with its work done"
    if journal.asked_for in _ENDED_ON_PURPOSE:
        return f"it was ended on purpose ({journal.blocked_reason or journal.asked_for})"
    if journal.blocked_reason == HANDED_OFF and not parked:
        return "it was handed off to a successor"
    if journal.launched_at is None and not journal.resumes:
        return "it never started"
    return ""


def why_taken(journal: Dispatch, task: TaskState) -> str:
    """Return why an ended dispatch cannot go on with its task; empty when it can.

    It cannot when the task is archived or paused, is done, abandoned or in progress, or is somebody else's.
    """
    if task.archived:
        return "its task is archived"
    if task.status in _TAKEN_UP:
        by = f", by {task.assignee}" if task.assignee and task.assignee != journal.id else ""
        return f"its task is {task.status}{by}"
    if task.status != "open" and task.assignee != journal.id:
        return f"its task is {task.status}, by {task.assignee or 'nobody'}"
    return "its task is paused" if task.paused else ""


def has_left_work(agent: AgentView) -> bool:
    """Return whether an agent that has ended was not done with its work, and nobody ended it on purpose.

    False for a merge, which is run again and not resumed, and for an agent of a job, which the job continues itself.
    """
    if agent.kind == "finisher" or agent.engine == _JOB:
        return False
    return agent.report not in {"done", "failed"} and agent.asked_for not in _ENDED_ON_PURPOSE


def was_interrupted(journal: Dispatch | LeftAttempt) -> bool:
    """Return whether a dispatch ended because its machine or tmux server went down, or was a resume that never started."""
    if journal.launched_at is None:
        return bool(journal.resumes) and journal.asked_for is None
    return journal.report is None and (journal.blocked_reason or "").startswith(INTERRUPTED)


def why_past(journal: Dispatch, task: TaskState) -> str:
    """Return that a dispatch cannot continue because its task is at another stage; "" when the stage is the same."""
    if STAGE_OF.get(journal.kind) == task.stage:
        return ""
    return f"its task is at the stage {task.stage} now"
