"""The pages of `fleet status` and `fleet recap`."""

from __future__ import annotations

from fleet.model.results.agents import AgentView, Cost
from fleet.model.results.jobs import JobView
from fleet.model.results.merge import Waiting
from fleet.model.results.projects import ProjectView
from fleet.model.results.tasks import NextStep
from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.value import Time
    from fleet.model.states import (
        DispatchKind,
        ExecState,
        HoldKind,
        QuestionKind,
        RowKind,
        SpanOutcome,
        TaskStatus,
        Tone,
    )


class Overview(Value):
    """The page of `fleet status`."""

    needs_you: list[NeedView]  # questions, oldest first; then agents that wait or are stuck; then fruitless handoffs
    in_the_way: list[Obstacle]  # why no agent starts on the ready tasks of a project
    review: list[Waiting]  # most urgent first, 200 at most
    failed: list[Failure]  # newest first, 200 at most
    parked: list[Parked]  # newest first, 200 at most
    holds: list[HoldView]  # engines on which no agent is started
    merging: list[Merging]  # 200 at most
    to_land: list[ToLand]  # merged work that is not on the target branch yet
    working: list[Attempt]  # all agents, coordinators included, and 200 at most of the tasks that a person has claimed
    jobs: list[JobView]  # running, paused and failed ones, newest first
    projects: list[ProjectView]  # by name
    today: Cost  # what all agents have used today
    remote_control: list[str]  # projects whose coordinator is an agent that may be controlled from another device
    reclaim: list[str]  # what is not released although nobody needs it, in words
    elsewhere: list[str]  # claims that only another home, host or tmux socket can release, in words
    left_out: LeftOut  # how many more entries there are than the lists have
    daemon: str = ""  # that the daemon has died or is suspended, and what to do; else empty


class LeftOut(Value):
    """How many entries were left out of the lists of the status page that have a limit."""

    review: int = 0
    failed: int = 0
    parked: int = 0
    merging: int = 0
    working: int = 0


class ToLand(Value):
    project: str
    commits: int  # how many wait
    integration: str
    target: str  # the branch that `fleet land` would move


class Obstacle(Value):
    """One reason why no agent starts on a ready task, or why finished work is not merged."""

    project: str
    slug: str | None = None  # the task; null for a reason that concerns all tasks of the project
    kind: str  # the name of the error that a start would raise, for example NoCommit, EngineHeld or LimitReached
    text: str  # the obstacle, and what to do about it


class NeedView(Value):
    """Something that waits for a person."""

    project: str
    slug: str | None  # null for a coordinator
    dispatch: str  # the agent; for handoffs the last one, which has ended
    kind: str  # permission or question; handoffs; else the state of the agent that waits
    text: str  # the question, or what is known and what can be done
    command: str | None  # the command that the agent wants to run
    question: str | None  # the question's id
    since: Time
    source: str  # where this is known from, for example hook or screen


class Failure(Value):
    project: str
    slug: str
    title: str
    reason: str | None
    changed_at: Time
    next_step: NextStep | None = None


class Parked(Value):
    """A task that is blocked, or that waits for a time."""

    project: str
    slug: str
    title: str
    status: TaskStatus  # blocked; open when the task waits for a time
    stage: str  # the coordinator continues tasks at the stages fix and rebase
    reason: str | None
    not_before: Time | None  # the time that the task waits for
    changed_at: Time
    next_step: NextStep | None = None


class HoldView(Value):
    engine: str
    kind: HoldKind  # limit or login
    reason: str
    since: Time
    until: Time | None  # null: until somebody solves it
    instead: list[str]  # the engines that agents run on now because this one is held back


class Merging(Value):
    """A task whose work waits to be merged."""

    project: str
    slug: str
    title: str
    pull_request: str | None  # the address of the pull request
    since: Time


class Attempt(Value):
    """Something that is being worked on."""

    project: str
    slug: str | None  # null for a coordinator
    title: str
    who: str  # the agent's id, or the name of a person
    kind: DispatchKind | None  # the kind of the dispatch; null for a task that a person has claimed
    state: str
    source: str  # where the state comes from
    detail: str
    since: Time  # since when the state is known
    started_at: Time
    handoffs: int  # how many handoffs led to the agent


class Section(Value):
    """One section of the status page, in the order in which people read it."""

    title: str  # for example `Needs you`; the screen groups its rows by the same words
    tone: Tone
    hint: str  # what to run; empty for nothing
    entries: list[NeedView | Obstacle | Waiting | Failure | Parked | HoldView | Merging | ToLand | Attempt | JobView]
    more: int  # how many more there are than entries


class Snapshot(Value):
    """What fleet knows at one moment: the status page, every agent, and a row for each thing that a screen lists."""

    seq: int  # the sequence number of the newest operation in the snapshot
    at: Time
    page: Overview
    agents: list[AgentView]
    rows: list[RowView]  # by project; in each project the problems first
    counts: dict[str, int]  # how many rows each group has
    banner: list[str]  # what is not released although nobody needs it, by its name; and claims of other homes
    tmux: str  # why tmux does not answer although agents should be running; empty when it does
    keys: str = ""  # what is wrong with the keys in the settings, one to a line; empty when nothing is


class RowView(Value):
    """One row of a screen: a project, a coordinator, a task with its agent, or something that a project keeps."""

    key: str  # the same for the same thing in every snapshot
    kind: RowKind
    project: str
    slug: str | None = None
    agent: str | None = None  # the agent at work; for something that was kept, the dispatch that made it
    attempt: str | None = None  # the last agent of a task on which no agent works now
    question: str | None = None  # the id of the question that the agent asks
    asks: str = ""  # permission or question; empty without a question
    group: str = ""  # the section of the status page, in lower case; or ready, waiting, done, abandoned
    rank: int = 0  # the place of the group among the groups; 0 is the group that needs a person most
    state: str = ""  # the word that `fleet status` prints
    glyph: str = ""
    tone: Tone = ""
    title: str = ""
    text: str = ""  # the question, the reason, or what is known of the agent
    source: str = ""  # where the state comes from
    since: Time | None = None
    started_at: Time | None = None
    branch: str = ""
    context: int | None = None  # how full the agent's context is, in percent
    engine: str | None = None
    stage: str = ""
    dispatch_kind: str = ""  # worker, reviewer, …; empty without an agent
    resumable: bool = False  # whether the last agent has ended or stopped, and `fleet resume` continues its work


class Span(Value):
    """The time in which an agent worked."""

    dispatch: str
    project: str
    slug: str | None  # null for a coordinator
    kind: str  # worker, reviewer, …; empty when the dispatch is archived
    started_at: Time
    ended_at: Time | None  # null while it works
    outcome: SpanOutcome


class Recap(Value):
    """What has happened since a time."""

    since: Time
    until: Time  # now
    merged: list[MergedTaskView]  # oldest first
    review: list[Waiting]
    asked: list[Asked]  # oldest first
    failed: list[SettledView]  # dispatches, oldest first
    blocked: list[SettledView]
    interrupted: list[SettledView]
    spent: Spent


class MergedTaskView(Value):
    project: str
    slug: str
    title: str
    merged: str  # the merge commit
    merged_at: Time


class Asked(Value):
    """A question of an agent that waits for a person."""

    id: str  # the question's id
    dispatch: str
    project: str
    slug: str | None
    kind: QuestionKind  # permission or question
    text: str
    command: str | None
    asked_at: Time


class SettledView(Value):
    """A dispatch that has ended."""

    project: str
    slug: str | None
    dispatch: str
    at: Time
    exec_state: ExecState
    reason: str | None


class Spent(Value):
    agents: int  # agents whose tokens or cost are known
    tokens: int
    dollars: float
    unpriced: int  # tokens of models whose price is not known; they are not in `dollars`
