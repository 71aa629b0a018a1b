"""What agents say of their tasks, and what they are told."""

from __future__ import annotations

from fleet.model.results.value import OfTask, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import MessageKind, TaskStatus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import MessageKind


class Logged(OfTask):
    logged: str  # the message


class Registered(OfTask):
    artifact: str  # the path
    new: bool  # false when it was registered before


class Claimed(OfTask):
    status: TaskStatus  # in_progress
    assignee: str  # you
    attempts: int  # how often it was claimed so far
    changed: bool


class Unclaimed(OfTask):
    status: TaskStatus = "open"  # open
    changed: bool = True


class Report(OfTask):
    status: (
        str  # what it is now; `reported done`, `reported failed` or `reported blocked` by an agent that fleet started
    )
    changed: bool
    logged: str | None  # the message that came with it, now in the log
    ready: list[str]  # slugs that can be started now, because this one ended; 50 at most


class Received(Value):
    id: str
    kind: MessageKind  # message, reminder or resume
    sender: str
    text: str
