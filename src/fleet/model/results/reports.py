"""Reports of agents about their tasks, and messages to agents."""

from __future__ import annotations

from fleet.model.results.value import OfTask, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import MessageKind, TaskStatus


class Logged(OfTask):
    """The result of adding a message to a task's log."""

    logged: str  # the message


class Registered(OfTask):
    """The result of registering an artifact of a task."""

    artifact: str  # the path or address
    new: bool  # false when it was registered before


class Claimed(OfTask):
    status: TaskStatus  # in_progress
    assignee: str  # your name, or your dispatch id
    attempts: int  # how often the task has been claimed so far
    changed: bool


class Unclaimed(OfTask):
    status: TaskStatus = "open"  # open
    changed: bool = True


class Report(OfTask):
    status: str  # the task's status; from a running agent `reported done`, `reported failed` or `reported blocked`
    changed: bool
    logged: str | None  # the message of the report, which is now in the log
    ready: list[str]  # slugs of tasks that can be started now because this task ended; at most 50


class Received(Value):
    id: str
    kind: MessageKind  # message, reminder or resume
    sender: str
    text: str
