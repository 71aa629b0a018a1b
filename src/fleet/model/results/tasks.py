"""Tasks, their graph, and changes of tasks."""

from __future__ import annotations

from fleet.model.results.reports import Unclaimed
from fleet.model.results.value import OfTask, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.value import Said, Time
    from fleet.model.states import ShownStatus, TaskStatus


class GraphNode(Value):
    slug: str  # the task's name in its project
    title: str  # one line
    status: TaskStatus  # open, in_progress, blocked, done, failed or abandoned
    state: ShownStatus  # the status; but of an open task: ready or waiting
    priority: int  # higher goes first
    assignee: str | None  # who works on it, or ended it


class TaskView(GraphNode):
    project: str  # the project's name
    stage: str  # how far it is in its pipeline: worker, review, finisher, fix or rebase
    paused: bool  # held back by a person
    archived: bool  # out of sight
    not_before: Time | None  # it waits until then
    engine: str | None  # the engine that should do it
    attempts: int  # how often it was claimed
    reason: str | None  # why it failed or is blocked
    open_blockers: int  # how many dependencies are neither done nor abandoned
    added_at: Time
    changed_at: Time


class TaskDetails(TaskView):
    description: str  # empty when there is none
    verify: str | None  # the command that has to pass on the merged work
    started_at: Time | None  # when the last attempt began
    ended_at: Time | None  # when it was reported
    after: list[str]  # slugs it waits for
    dependents: list[str]  # slugs that wait for it
    tags: list[str]
    log: list[LogEntry]  # oldest first
    artifacts: list[ArtifactView]  # by path


class LogEntry(Value):
    at: Time
    actor: str  # who said it: a dispatch id, a name, or user@host
    message: str


class ArtifactView(Value):
    path: str  # a path or an address
    at: Time
    actor: str


class Explanation(Value):
    project: str
    slug: str
    status: TaskStatus
    ready: bool  # it could be started now
    sentences: list[str]  # the task's own state first, then one a blocker
    chain: list[Blocker]  # what it waits for, near first


class Blocker(Value):
    slug: str  # this one waits
    needs: str  # for this one
    depth: int  # 0: the task itself waits for it; 1: for what it waits for; and so on
    sentence: str


class Graph(Value):
    project: str
    nodes: list[GraphNode]  # by slug
    edges: list[EdgeView]


class EdgeView(Value):
    slug: str  # this one waits
    needs: str  # for this one


class Node(Value):
    """What `fleet task export` writes and `fleet task import` reads. Only `slug` and `title` have to be there."""

    slug: str
    title: str
    description: Said[str] = None
    status: TaskStatus  # open when it is missing
    priority: Said[int] = None
    not_before: Said[Time] = None
    verify: Said[str] = None
    engine: Said[str] = None
    assignee: Said[str] = None
    attempts: Said[int] = None
    reason: Said[str] = None
    paused: Said[bool] = None
    archived: Said[bool] = None
    added_at: Time  # now when it is missing
    changed_at: Time  # now when it is missing
    started_at: Said[Time] = None
    ended_at: Said[Time] = None
    after: Said[list[str]] = None  # slugs it waits for
    tags: Said[list[str]] = None
    log: Said[list[LogEntry]] = None
    artifacts: Said[list[ArtifactView]] = None


class Added(OfTask):
    slug: str  # the same; made from the title when none was given
    title: str
    after: list[str]
    status: TaskStatus = "open"  # open


class AddedMany(Value):
    project: str
    tasks: list[Added]  # in the order of the list
    left_out: int = 0  # lines of the list that are ticked, or no items
    dry_run: bool = False  # nothing was added


class Edited(OfTask):
    slug: str  # the same
    changed: bool
    fields: list[str]  # the fields that were named


class Reopened(Unclaimed):
    was: TaskStatus  # what it was before


class Paused(OfTask):
    paused: bool
    changed: bool


class Archived(OfTask):
    archived: bool
    changed: bool


class ArchivedMany(Value):
    project: str
    archived: int  # how many


class Imported(Value):
    project: str
    tasks: int  # how many were added
    edges: int  # their dependencies
    left_out: int  # lines that were no tasks
