"""Tasks, their dependencies, and the results of changing them."""

from __future__ import annotations

from fleet.model.results.agents import Cost
from fleet.model.results.reports import Unclaimed
from fleet.model.results.value import OfTask, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.value import Said, Time
    from fleet.model.results.views import Obstacle
    from fleet.model.states import ShownStatus, TaskStatus


class NextStep(Value):
    """The one next step of a task: the same in every view and every refusal."""

    says: str  # why, or what the task waits for
    command: str | None  # what to run; null when there is nothing to run now


class GraphNode(Value):
    slug: str  # the task's name in its project
    title: str  # one line
    status: TaskStatus  # open, in_progress, blocked, done, failed or abandoned
    state: ShownStatus  # the status; for an open task `ready` or `waiting` instead
    priority: int  # tasks with a higher number are started first
    assignee: str | None  # who works on the task, or ended it


class TaskView(GraphNode):
    project: str  # the project's name
    stage: str  # the stage in the pipeline: worker, review, finisher, fix or rebase
    paused: bool  # a person has paused the task
    archived: bool  # lists leave the task out
    not_before: Time | None  # the task waits until then
    engine: str | None  # the engine that should run the task
    model: str | None  # the model that should run the task, as the engine calls it
    attempts: int  # how often the task was claimed
    reason: str | None  # why the task failed or is blocked
    open_blockers: int  # how many dependencies are neither done nor abandoned
    added_at: Time
    changed_at: Time


class TaskDetails(TaskView):
    says: str  # the state in words, as `fleet task why` says it
    description: str  # empty when there is none
    verify: str | None  # the command that has to pass on the merged work
    used: Cost  # what all attempts have used, as far as their engines write it down
    started_at: Time | None  # when the last attempt began
    ended_at: Time | None  # when the task was reported
    after: list[str]  # slugs of tasks that this task waits for
    dependents: list[str]  # slugs of tasks that wait for this task
    tags: list[str]
    log: list[LogEntry]  # oldest first
    artifacts: list[ArtifactView]  # by path
    handoffs: int  # how many agents of the task were handed off
    used_before_handoffs: Cost  # what those agents have used
    next_step: NextStep | None = None


class LogEntry(Value):
    at: Time
    actor: str  # who wrote it: a dispatch id, a name, or user@host
    message: str


class ArtifactView(Value):
    path: str  # a path or an address
    at: Time
    actor: str


class Explanation(Value):
    """Why a task is not being worked on."""

    project: str
    slug: str
    status: TaskStatus
    ready: bool  # the task waits for no other task and no time
    obstacles: list[Obstacle]  # what keeps the task from starting although it is ready
    sentences: list[str]  # the task's own state first, then one sentence for each blocker
    chain: list[Blocker]  # the tasks that it waits for, nearest first
    next_step: NextStep | None = None


class Blocker(Value):
    """One dependency that keeps a task from starting."""

    slug: str  # the task that waits
    needs: str  # the task that it waits for
    depth: int  # 0 when the explained task itself waits, 1 when a task that it waits for waits, and so on
    sentence: str


class Graph(Value):
    project: str
    nodes: list[GraphNode]  # by slug
    edges: list[EdgeView]


class EdgeView(Value):
    slug: str  # the task that waits
    needs: str  # the task that it waits for


class Node(Value):
    """A task as `fleet task export` writes and `fleet task import` reads it. Only `slug` and `title` are required."""

    slug: str
    title: str
    description: Said[str] = None
    status: TaskStatus  # `open` when the key is missing
    priority: Said[int] = None
    not_before: Said[Time] = None
    verify: Said[str] = None
    engine: Said[str] = None
    model: Said[str] = None
    assignee: Said[str] = None
    attempts: Said[int] = None
    reason: Said[str] = None
    paused: Said[bool] = None
    archived: Said[bool] = None
    added_at: Time  # the time of the import when the key is missing
    changed_at: Time  # the time of the import when the key is missing
    started_at: Said[Time] = None
    ended_at: Said[Time] = None
    after: Said[list[str]] = None  # slugs of tasks that this task waits for
    tags: Said[list[str]] = None
    log: Said[list[LogEntry]] = None
    artifacts: Said[list[ArtifactView]] = None


class Added(OfTask):
    slug: str  # the same as task; made from the title when none was given
    title: str
    after: list[str]
    status: TaskStatus = "open"  # open


class AddedMany(Value):
    project: str
    tasks: list[Added]  # in the order of the list
    left_out: int = 0  # lines of the list that are ticked, or not items
    dry_run: bool = False  # true: nothing was added


class Edited(OfTask):
    slug: str  # the same as task
    changed: bool
    fields: list[str]  # the fields that the request named


class Reopened(Unclaimed):
    was: TaskStatus  # the status before


class Paused(OfTask):
    paused: bool
    changed: bool


class Archived(OfTask):
    archived: bool
    changed: bool


class ArchivedMany(Value):
    project: str
    archived: int  # how many tasks


class Imported(Value):
    project: str
    tasks: int  # how many tasks were added
    edges: int  # how many dependencies were added
    left_out: int  # lines that were not tasks
