"""Status and recap."""

from __future__ import annotations

from fleet.model.results.merge import Waiting
from fleet.model.results.projects import ProjectView
from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.value import Time
    from fleet.model.states import ExecState, HoldKind, QuestionKind, TaskStatus


class Overview(Value):
    needs_you: list[NeedView]  # questions oldest first, then agents that wait without one
    in_the_way: list[Obstacle]  # why ready work of a project is not begun
    review: list[Waiting]  # most urgent first
    failed: list[Failure]  # newest first, 200 at most
    parked: list[Parked]  # newest first, 200 at most
    holds: list[HoldView]  # engines that are held back for the whole fleet
    merging: list[Merging]
    working: list[Attempt]  # agents, coordinators too, and what somebody claimed by name
    projects: list[ProjectView]  # by name
    reclaim: list[str]  # what is still held although nobody needs it, in words
    elsewhere: list[str]  # claims that only another host or tmux socket can answer for, in words


class Obstacle(Value):
    project: str
    text: str  # what is in the way, and what to do about it


class NeedView(Value):
    project: str
    slug: str | None  # null for a coordinator
    dispatch: str
    kind: str  # permission or question; or the state of an agent that put none
    text: str  # the question
    command: str | None  # what it wants to run
    question: str | None  # its id
    since: Time
    source: str  # hook or screen


class Failure(Value):
    project: str
    slug: str
    title: str
    reason: str | None
    changed_at: Time


class Parked(Value):
    project: str
    slug: str
    title: str
    status: TaskStatus  # blocked, or open when it waits for a time
    stage: str  # fix and rebase are taken up by the coordinator
    reason: str | None
    not_before: Time | None  # until then
    changed_at: Time


class HoldView(Value):
    engine: str
    kind: HoldKind  # limit or login
    reason: str
    since: Time
    until: Time | None  # null: until somebody mends it


class Merging(Value):
    project: str
    slug: str
    title: str
    pull_request: str | None  # its address
    since: Time


class Attempt(Value):
    project: str
    slug: str | None  # null for a coordinator
    title: str
    who: str  # the agent's id, or a name
    kind: str | None  # null when it is no agent
    state: str
    source: str  # where that was learnt
    detail: str
    since: Time  # when that was learnt
    started_at: Time


class Recap(Value):
    since: Time
    until: Time  # now
    merged: list[MergedTaskView]  # oldest first
    review: list[Waiting]
    asked: list[Asked]  # oldest first
    failed: list[SettledView]  # attempts, oldest first
    blocked: list[SettledView]
    interrupted: list[SettledView]
    spent: Spent


class MergedTaskView(Value):
    project: str
    slug: str
    title: str
    merged: str  # the commit
    merged_at: Time


class Asked(Value):
    id: str  # the question's
    dispatch: str
    project: str
    slug: str | None
    kind: QuestionKind  # permission or question
    text: str
    command: str | None
    asked_at: Time


class SettledView(Value):
    project: str
    slug: str | None
    dispatch: str
    at: Time
    exec_state: ExecState
    reason: str | None


class Spent(Value):
    agents: int  # those whose engine reports what they cost
    tokens: int
    dollars: float
