"""Jobs and their items. `fleet job run` and `fleet resume` of a job print a line for each change, and JobEnded last."""

from __future__ import annotations

from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.model.results.value import Said, Time
    from fleet.model.states import InputSource, ItemState, JobPhase, JobState


class JobChanged(Value):
    event: str = "job"  # always `job`
    job: str  # the job's id
    name: str
    state: JobState  # running, paused, failed, done or cancelled
    phase: JobPhase  # setup, map, reduce or over
    reason: str | None  # why it is paused, failed or cancelled


class ItemChanged(Value):
    event: str = "item"  # always `item`
    job: str
    item: str  # the item's id
    label: str  # the item in a few words
    state: ItemState  # running, merging, done, waiting (for another attempt), dead, skipped or parked
    attempt: int
    reason: str | None  # the first line of the reason


class ItemCounts(Value):
    waiting: int
    running: int
    merging: int  # done, and waiting to be merged
    done: int
    dead: int  # in the dead-letter queue
    skipped: int  # given up, dropped, or no longer in the input
    parked: int  # not mergeable, or stopped by a person
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
    event: str = "progress"  # always `progress`
    job: str
    rate: float  # items that ended per second since the runner started
    eta: int | None  # seconds left at this rate
    waits: str | None = None  # the held engine or the spent budget that the job waits for


class _JobSummary(Value):
    id: str
    name: str
    project: str
    state: JobState
    phase: JobPhase
    reason: str | None  # why it is paused, failed or cancelled
    items: ItemCounts
    branch: str  # the branch that finished items are merged into


class JobEnded(_JobSummary):
    event: str = "end"  # always `end`
    left: list[str]  # what could not be released, and why
    stopped: Said[str] = None  # the runner that --force stopped


class JobPlan(Value):
    """A job as its document describes it, before it runs."""

    name: str
    project: str
    parameters: dict[str, str]  # the value of each `{env.NAME}`; `…` for a value that is not in the document
    steps: dict[str, list[str]]  # the titles of the steps of setup, map and reduce
    source: InputSource  # list, file, command or glob
    max_parallel: int
    isolation: str
    on_failure: str
    attempts: int


class JobView(_JobSummary):
    added_at: Time
    begun_at: Time  # when the last runner started
    ended_at: Time | None
    actor: str  # who started the job first
    runs: bool  # whether a runner works on the job now
    waits: str | None  # the held engine or the spent budget that the job waits for


class JobDetails(JobView):
    parameters: dict[str, str]  # as in JobPlan
    report: JobReport
    processes: list[JobProcess]  # processes that a runner of the job started itself and that run now


class JobProcess(Value):
    pid: int
    item: str | None  # the item it works on; `input` for the command that lists the items; null when unknown
    runner: str  # whether the runner that started it is alive, dead or unknown


class JobReport(Value):
    html: str | None  # the path of the report
    md: str | None  # the path of the report


class JobCancelled(_JobSummary):
    left: list[str]  # what could not be released, and why
    runner: str | None  # the runner that is ending the job, when one works on it


class ItemView(Value):
    id: str  # computed from the item's content
    number: int  # the item's place in the input; below 0 when the input no longer has it
    state: ItemState
    attempts: int
    dispatch: str | None  # the dispatch of the last attempt
    reason: str | None
    signature: str | None  # the same text for failures of the same kind
    not_before: Time | None  # when the next attempt may start
    started_at: Time | None
    ended_at: Time | None
    label: str
    item: object  # the item's content
    commit: str | None  # the commit of the job's branch that contains the item's work


class ItemDetails(ItemView):
    job: str
    history: list[ItemFailure]  # oldest first
    steps: list[StepDone]  # the steps of every attempt


class ItemFailure(Value):
    attempt: int
    dispatch: str | None
    started_at: Time | None
    ended_at: Time | None
    where: str  # the step that failed, or what else failed
    reason: str  # with the end of the step's output
    signature: str


class StepDone(Value):
    attempt: int
    number: int
    title: str
    status: int | None  # the exit status; null when the step was killed or never started
    reason: str | None
    started_at: Time
    ended_at: Time
    commits: list[str]


class StepOutput(Value):
    step: str  # the item, the attempt and the number of the step, with dots between them
    text: str


class ItemsRevived(Value):
    """Items of a job that were taken out of the dead-letter queue to be tried again."""

    job: str
    items: list[str]
    state: JobState  # the state of the job: running when a runner takes the items, else paused


class ItemsDropped(Value):
    """Items of a job that were removed from the dead-letter queue."""

    job: str
    items: list[str]
    left: list[str]  # what could not be released, and why


class Validation(Value):
    file: str
    valid: bool
    faults: list[Fault]


class Fault(Value):
    line: int
    column: int
    why: str
    advice: str
