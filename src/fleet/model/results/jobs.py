"""Jobs and their items."""

from __future__ import annotations

from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.model.results.value import Said, Time


class JobEvent(Value):
    event: str  # job, item, progress or end
    job: Said[str] = None  # the job's id
    id: Said[str] = None  # the same, at the end
    name: Said[str] = None
    project: Said[str] = None
    state: Said[str] = (
        None  # of the job: running, paused, failed, done, cancelled; of an item: running, merging, done, waiting (to be tried again), dead, skipped, parked
    )
    phase: Said[str] = None  # setup, map, reduce or over
    reason: Said[str] = None
    item: Said[str] = None  # the item's id
    label: Said[str] = None  # the item in a few words
    attempt: Said[int] = None
    waiting: Said[int] = None  # how many items are in this state
    running: Said[int] = None
    merging: Said[int] = None
    done: Said[int] = None
    dead: Said[int] = None
    skipped: Said[int] = None
    parked: Said[int] = None
    total: Said[int] = None
    rate: Said[int] = None  # items ended a second, since the runner began
    eta: Said[int] = None  # seconds left, if the rate stays
    items: Said[ItemCounts] = None
    branch: Said[str] = None  # where finished items are merged
    left: Said[list[str]] = None  # what could not be let go, and why


class ItemCounts(Value):
    waiting: int
    running: int
    merging: int  # done, and to be merged
    done: int
    dead: int  # in the dead-letter queue
    skipped: int  # given up, dropped, or gone from the input
    parked: int  # could not be merged, or was stopped by a person
    total: int


class JobPlan(Value):
    name: str
    project: str
    parameters: dict[str, Any]  # what `{env.NAME}` stands for; `…` for what does not stand in the document
    steps: dict[str, Any]  # the titles of the steps of setup, map and reduce
    source: str  # list, file, command or glob
    max_parallel: int
    isolation: str
    on_failure: str
    attempts: int


class JobView(Value):
    id: str
    name: str
    project: str
    state: str
    phase: str
    reason: str | None  # why it is paused, failed or cancelled
    items: ItemCounts
    branch: str
    added_at: Time
    begun_at: Time  # when its last runner began
    ended_at: Time | None
    actor: str  # who ran it first
    runs: bool  # whether a runner has it in hand now


class JobDetails(JobView):
    parameters: dict[str, Any]  # as in JobPlan
    report: JobReport
    processes: list[JobProcess]  # what a runner of it started itself and runs now


class JobProcess(Value):
    pid: int
    item: str | None  # the item it works on; input for the command of the input; null when it does not say
    runner: str  # whether the runner that started it is alive, dead or unknown


class JobReport(Value):
    html: str | None  # its path
    md: str | None


class JobCancelled(Value):
    id: str
    name: str
    project: str
    state: str
    phase: str
    reason: str | None
    items: ItemCounts
    branch: str
    left: list[str]  # what could not be let go, and why
    runner: str | None  # who is ending it, when a runner has it in hand


class ItemView(Value):
    id: str  # made from its content
    number: int  # its place in the input; below 0 when it is gone from there
    state: str
    attempts: int
    dispatch: str | None  # of its last attempt
    reason: str | None
    signature: str | None  # what failures of the same kind share
    not_before: Time | None  # when it is tried again
    started_at: Time | None
    ended_at: Time | None
    label: str
    item: object  # its content
    commit: str | None  # the commit of the job's branch that has its work


class ItemDetails(ItemView):
    job: str
    history: list[ItemFailure]  # oldest first
    steps: list[StepDone]  # of every attempt


class ItemFailure(Value):
    attempt: int
    dispatch: str | None
    started_at: Time | None
    ended_at: Time | None
    where: str  # the step, or what else failed
    reason: str  # with the end of what it printed
    signature: str


class StepDone(Value):
    attempt: int
    number: int
    title: str
    status: int | None  # its exit status; none when it was ended or never started
    reason: str | None
    started_at: Time
    ended_at: Time
    commits: list[str]


class StepOutput(Value):
    step: str  # item, attempt and number of the step
    text: str


class ItemsRevived(Value):
    job: str
    items: list[str]
    state: str  # of the job: running when a runner takes them up, else paused


class ItemsDropped(Value):
    job: str
    items: list[str]
    left: list[str]


class Validation(Value):
    file: str
    valid: bool
    faults: list[Fault]


class Fault(Value):
    line: int
    column: int
    why: str
    advice: str
