"""The fleet home: its operations, its sweeps and its checks."""

from __future__ import annotations

from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.model.results.value import Time
    from fleet.model.states import ChannelOutcome, DutyState, NoticeChannel, NoticeKind, NoticeState


class HomeView(Value):
    id: str
    host: str  # the host id that the home keeps: the machine's id when the home was made
    machine: str  # the machine on which the home was last used
    path: str  # where the home was made or last repaired
    database: str  # sqlite or postgresql
    here: str  # where the home is now
    machine_now: str  # the machine that the home is on now
    moved: bool  # the home is not at `path`
    others: list[OtherHome]  # homes that have used the same database


class OtherHome(Value):
    id: str
    host: str
    machine: str
    name: str  # the name of that machine
    path: str


class Repair(Value):
    """What `fleet home repair` changes, or would change."""

    path: str  # where the home is now
    was: str  # where the home was before
    worktrees: list[str]  # worktrees whose new path git gets
    claims: list[str]  # claims that name the old path
    left: list[str]  # what was not changed, and why
    repaired: bool  # false: the repair was only shown


class NewDatabase(Value):
    home: str
    database: str  # sqlite or postgresql


class Swept(Value):
    """One thing that a sweep found."""

    what: str  # the thing
    why: str  # why it should be released, or what is wrong with it
    proof: str  # what shows that this is so
    action: str  # what was done, or would be done
    done: bool = False
    standing: bool = False  # there is nothing to do about it now
    waiting: bool = False  # nothing leaked: the next tick or sweep brings a derived file up to date


class Pruned(Value):
    """The result of deleting old journals from the archive."""

    pruned: int  # archived journals that were deleted
    kept: int  # archived journals that remain


class Rotated(Value):
    """The result of moving old operations from the database into files."""

    moved: int  # operations that were moved out of the database
    files: list[str]  # new files in `operations/` in the fleet home


class Finding(Value):
    """The result of one check of `fleet doctor`."""

    about: str
    ok: bool
    says: str
    advice: str = ""  # what to do; empty when ok is true


class OperationView(Value):
    seq: int  # the sequence number, without gaps, in the order of the commits
    at: Time
    actor: str
    why: str  # the reason in a few words
    project: str | None
    slug: str | None
    dispatch: str | None  # the dispatch that made the request
    what: dict[str, Any]  # what changed


class Demonstration(Value):
    """The figures of `fleet demo --crowd`: many processes work through one graph of tasks."""

    processes: int  # how many processes worked at once
    failed_processes: int  # how many of the processes failed
    tasks: int
    done: int
    lost_races: int  # claims that another process won
    acknowledged: int  # messages that fleet confirmed to the processes
    kept: int  # messages that are in the store
    operations: int
    seconds: float


class Show(Value):
    """The figures of `fleet demo`: scripted agents work in real sessions and worktrees, with mishaps."""

    done: int  # number of tasks
    merged: int  # number of tasks, each counted once
    recovered: list[str]  # what was repaired, and how
    refused: list[str]  # worktrees that were kept because they had uncommitted work
    leaked: list[str]  # what was left over at the end
    seconds: float


class NightResult(Value):
    """The figures of `fleet demo --night`: a coordinator leads scripted agents, and is replaced."""

    merged: int  # number of tasks, each counted once
    replacements: list[str]  # the coordinators that were replaced, by whom, and whether they were alive
    handed_off: list[str]  # the agents that were handed off, and to whom
    paused: list[str]  # what was recorded of waits for a usage limit
    mended: list[str]  # what was recorded of agents that fixed work
    faults: list[str]  # what went wrong
    leaked: list[str]  # what was left over at the end
    seconds: float


class Told(Value):
    """One notice, as `notify.command` gets it."""

    id: str  # the same when the message about a notice is repeated
    kind: NoticeKind  # needs you, failed, review or blocked
    project: str
    task: str | None  # its slug; null for a coordinator or a job
    dispatch: str | None  # the agent
    question: str | None  # the question's id, for `fleet answer` and `fleet approve`
    title: str  # the project, and the task or agent that the notice is about
    body: str  # the question, or the reason
    since: Time


class NotifyEvent(Value):
    """One message, as `notify.command` gets it on its standard input."""

    title: str
    body: str
    at: Time
    is_test: bool  # made by `fleet notify test`
    notices: list[Told]  # one; several in a digest; none in a test


class NoticeView(Value):
    """One notice and what became of it."""

    id: str
    kind: NoticeKind
    state: NoticeState  # due, sending, told, unsure (its sender was killed), failed (no channel took it) or lapsed (it was over, or too old, before it was told)
    project: str
    task: str | None  # its slug; null for a coordinator or a job
    dispatch: str | None
    question: str | None
    title: str
    body: str
    since: Time
    seen_at: Time  # when fleet first saw what the notice is about
    over_at: Time | None  # when that was over
    told_at: Time | None
    channels: list[str]  # the channels that took the notice
    attempts: int
    trouble: str  # why channels did not take the notice; empty when nothing went wrong


class ChannelTried(Value):
    """What became of a message on one channel."""

    channel: NoticeChannel
    outcome: ChannelOutcome  # told, absent (it is not set up, or nobody is there) or failed
    text: str  # where the message went, or why it was not sent


class DaemonUnit(Value):
    """The unit by which the system starts a home's daemon."""

    system: str  # systemd or launchd
    name: str
    path: str  # the path of the unit's file
    home: str
    is_installed: bool
    is_changed: bool  # whether the file was written or removed just now
    notes: list[str]  # what a person should know about the unit


class Metrics(Value):
    """The figures of a home."""

    projects: list[ProjectMetrics]
    agents: list[AgentCount]
    operations: int  # the newest sequence number
    held: list[str]  # engines that are held back
    limits: dict[str, float]  # by the names of their settings
    dollars_today: float


class ProjectMetrics(Value):
    project: str
    tasks: dict[str, int]  # by status
    archived: int
    ready: int
    active: int
    blocked_reclaim: int
    questions: int
    tokens: int
    dollars: float


class AgentCount(Value):
    project: str
    kind: str
    state: str
    n: int


class DaemonFigures(Value):
    """What a daemon counts of its own work."""

    uptime: float  # seconds
    requests: int
    errors: int
    batches: int  # transactions that requests have shared
    batched: int  # requests in these transactions
    largest_batch: int
    clients: int
    duty_failures: dict[str, int]  # by the duty's name
    is_store_up: bool


class DutyStatus(Value):
    """How one duty of the daemon fares."""

    name: str
    state: DutyState  # running, waiting, or failing: its last round failed, and it waits for the next try
    rounds: int  # how many rounds the duty has begun since the daemon started
    last_run: Time | None  # when its last round ended
    next_run: Time | None  # when its next round begins at the latest; null while it runs or waits for a change
    failures: int  # how many rounds in a row have failed
    error: str | None  # why the last round failed
    remark: str | None  # what a person should know about the duty


class DaemonStatus(Value):
    """The daemon of a home."""

    running: bool
    home: str
    pid: int | None  # the daemon; when `running` is false, a process that serves the home but does not answer
    fleet: str | None  # the version of the daemon's fleet
    since: Time | None
    store: str | None
    store_error: str | None  # why the store cannot be used now; `unheld` is not known then
    clients: int
    requests: int  # how many requests came since the daemon started
    errors: int  # how many of these were refused or failed
    commits: int  # transactions that requests shared
    batched: int  # requests in these transactions
    largest: int  # the most requests that shared one transaction
    lost: int  # transactions whose requests were done again, each alone
    at_work: int  # requests that are worked on now
    children: int  # processes that work on requests now
    subscribers: int
    duties: list[DutyStatus]
    unheld: list[str]  # projects whose coordinator is a duty of the daemon, and which no daemon coordinates now


def not_running(home: str) -> DaemonStatus:
    """Return the status of a home that no daemon serves."""
    return DaemonStatus(
        running=False, home=home, pid=None, fleet=None, since=None, store=None, store_error=None, clients=0, requests=0,
        errors=0, commits=0, batched=0,
        largest=0, lost=0, at_work=0, children=0, subscribers=0, duties=[], unheld=[],
    )  # fmt: skip
