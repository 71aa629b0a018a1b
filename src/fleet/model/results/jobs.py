"""Jobs and their items. `fleet job run` and `fleet resume` of a job print a line for each change, and JobEnded last."""

from __future__ import annotations

from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.model.results.value import Said, Time
    from fleet.model.states import ItemState, JobPhase, JobState


class JobChanged(Value):
    event: str = "job"  # job
    job: str  # the job's id
    name: str
    state: JobState  # running, paused, failed, done or cancelled
    phase: JobPhase  # setup, map, reduce or over
    reason: str | None  # why it is paused, failed or cancelled


class ItemChanged(Value):
    event: str = "item"  # item
    job: str
    item: str  # the item's id
    label: str  # the item in a few words
    state: ItemState  # running, merging, done, waiting (to be tried again), dead, skipped or parked
    attempt: int
    reason: str | None  # its first line


class ItemCounts(Value):
    waiting: int
    running: int
    merging: int  # done, and to be merged
    done: int
    dead: int  # in the dead-letter queue
    skipped: int  # given up, dropped, or gone from the input
    parked: int  # could not be merged, or was stopped by a person
    total: int

    @property
    def ended(self) -> int:
        """How many items have ended: done, dead, skipped or parked."""
        return self.done + self.dead + self.skipped + self.parked

    def in_words(self, states: Iterable[ItemState]) -> list[str]:
        """Return "COUNT STATE" for each of the states that has items."""
        counts = self.as_json()
        return [f"{counts[state]} {state}" for state in states if counts[state]]


class JobProgress(ItemCounts):
    event: str = "progress"  # progress
    job: str
    rate: float  # items ended a second, since the runner began
    eta: int | None  # seconds left, if the rate stays


class _JobSummary(Value):
    id: str
    name: str
    project: str
    state: JobState
    phase: JobPhase
    reason: str | None  # why it is paused, failed or cancelled
    items: ItemCounts
    branch: str  # where finished items are merged


class JobEnded(_JobSummary):
    event: str = "end"  # end
    left: list[str]  # what could not be let go, and why
    stopped: Said[str] = None  # the runner that --force stopped


class JobPlan(Value):
    name: str
    project: str
    parameters: dict[str, str]  # what `{env.NAME}` stands for; `…` for what does not stand in the document
    steps: dict[str, list[str]]  # the titles of the steps of setup, map and reduce
    source: str  # list, file, command or glob
    max_parallel: int
    isolation: str
    on_failure: str
    attempts: int


class JobView(_JobSummary):
    added_at: Time
    begun_at: Time  # when its last runner began
    ended_at: Time | None
    actor: str  # who ran it first
    runs: bool  # whether a runner has it in hand now


class JobDetails(JobView):
    parameters: dict[str, str]  # as in JobPlan
    report: JobReport
    processes: list[JobProcess]  # what a runner of it started itself and runs now


class JobProcess(Value):
    pid: int
    item: str | None  # the item it works on; input for the command of the input; null when it does not say
    runner: str  # whether the runner that started it is alive, dead or unknown


class JobReport(Value):
    html: str | None  # its path
    md: str | None


class JobCancelled(_JobSummary):
    left: list[str]  # what could not be let go, and why
    runner: str | None  # who is ending it, when a runner has it in hand


class ItemView(Value):
    id: str  # made from its content
    number: int  # its place in the input; below 0 when it is gone from there
    state: ItemState
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
    state: JobState  # of the job: running when a runner takes them up, else paused


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
