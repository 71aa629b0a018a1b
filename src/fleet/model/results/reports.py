"""What agents say of their tasks, and what they are told."""

from __future__ import annotations

from fleet.model.results.value import Value


class Logged(Value):
    project: str
    task: str  # its slug
    logged: str  # the message


class Registered(Value):
    project: str
    task: str  # its slug
    artifact: str  # the path
    new: bool  # false when it was registered before


class Report(Value):
    project: str
    task: str  # its slug
    status: (
        str  # what it is now; of an agent that fleet started: `reported done`, `reported failed` or `reported blocked`
    )
    changed: bool
    logged: str | None  # the message that came with it, now in the log
    ready: list[str]  # slugs that can be started now, because this one ended; 50 at most


class Received(Value):
    id: str
    kind: str  # message, reminder or resume
    sender: str
    text: str
