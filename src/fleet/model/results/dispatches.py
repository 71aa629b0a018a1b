"""Dispatches and their claims."""

from __future__ import annotations

from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.model.results.value import Said, Time
    from fleet.model.states import AskedFor, DispatchKind, ExecState, PromptResult, ReclState, ReportState, Resumes


class Dispatched(Value):
    """A dispatch that was started."""

    id: str  # the dispatch's id, which is also the agent's
    project: str
    task: str | None  # the task's slug; null for a coordinator or a job
    kind: DispatchKind  # worker, reviewer, finisher, fix, rebase or coord
    engine: str
    session: str | None  # the tmux session; null for a coordinator that is a duty of the daemon
    worktree: str  # the directory that the agent works in
    branch: str | None


class Ended(Value):
    """The result of ending a dispatch."""

    id: str
    settled: bool  # false: the agent was asked to exit, but is not proven dead yet
    why: Said[str] = None  # why the dispatch is not settled
    strangers: Said[str] = None  # unknown processes in the worktree, which keep the dispatch from being settled
    way: Said[str] = None  # what a person can do about these processes
    exec_state: Said[ExecState] = None  # done, blocked or failed
    left: Said[list[str]] = None  # what could not be released yet


class Resumed(Dispatched):
    """A dispatch that continues the work of another one. For a job, what `fleet job run` prints."""

    predecessor: str  # the dispatch whose work is continued
    conversation: bool  # whether the predecessor's conversation continues; else a new one starts from the work
    stopped: str | None  # the process of another resume, which `--force` stopped
    warnings: Said[list[str]] = None  # only for a coordinator: what failed, although the coordinator works


class Resumable(Value):
    """A dispatch or job that can be resumed."""

    id: str
    project: str
    task: str | None  # the task's slug; null for a coordinator or a job
    kind: str  # the kind of the dispatch, or `job`
    engine: str | None
    ended_at: Time | None
    reason: str  # why the dispatch ended
    interrupted: bool  # the dispatch was lost, and `--all` resumes it; one that was stopped is resumed only by its id
    conversation: bool  # whether the conversation would be continued


class ResumedMany(Value):
    resumed: list[Resumed]
    waiting: list[Unresumed]
    jobs: list[str]  # jobs that continue, each with a runner in the background


class Unresumed(Resumable):
    why: str  # why the dispatch could not be resumed now


class _Attempt(Value):
    id: str
    kind: DispatchKind
    project: str
    slug: str | None
    owner: str  # project/P/slug/S or coord/P
    engine: str | None
    exec_state: ExecState  # pending, in_flight, done, blocked or failed
    recl_state: ReclState  # pending, complete, partial or blocked
    report: ReportState | None
    blocked_reason: str | None
    created_at: Time
    updated_at: Time
    launched_at: Time | None
    ended_at: Time | None
    reported_at: Time | None
    asked_at: Time | None


class DispatchView(_Attempt):
    claims: int  # how many claims are not released
    age: int  # seconds since the dispatch was recorded


class Journal(_Attempt):
    """Everything that is recorded about a dispatch."""

    host: str
    host_id: str  # the same as `host`
    home: str | None  # the id of the fleet home that made the dispatch; null when it was made before homes had ids
    tmux_socket: str
    schema: int
    report_reason: str | None
    reported_commit: str | None  # the commit of the task's branch when the agent reported
    settled_commit: str | None  # the commit of the task's branch when the dispatch was settled
    descendants: str  # child processes of the agent and their children, as a JSON list
    asked_for: AskedFor | None
    asked_reason: str | None
    exit_status: int | None
    predecessor: str | None  # the dispatch whose work this one continued
    autonomy: str | None
    sandbox: str | None  # what the agent was started in: `bwrap`, or null for nothing
    model: str | None  # the model that the agent was started with; null for the engine's own
    instead_of: str | None  # the engine that would have come first, but was held back
    instead_why: str | None  # why that engine was held back
    command: str | None  # the words of the command, as JSON
    base: str | None  # the commit that the agent started from
    spawner: str | None  # the process that started the dispatch
    process: str | None  # the agent's process
    server: str | None  # the process of the tmux server
    handoffs: int  # how many handoffs led to this dispatch
    successor: str | None  # the dispatch that this one was handed off to
    resumes: Resumes | None  # `conversation` or `again`, when this dispatch resumed another one
    claims: list[JournalClaim]  # the dispatch's claims; for a live dispatch also those of the bundle that it owns
    adoptions: list[AdoptionView]  # the dispatches that have had the task's worktree, oldest first
    age: int | None = None  # seconds since the dispatch was recorded
    archived: Said[bool] = None  # true when the journal was read from the archive


class JournalClaim(Value):
    class_: str  # exclusive, adoptable, delivery, derived or audit
    kind: str
    state: str  # as in ClaimView; for an agent's record live, archived or missing; for a seat live, other or missing
    data: dict[str, Any]
    created_at: Said[Time] = None  # when the claim was recorded
    look: str | None = None  # what is there now: ours, absent, foreign or unknown; claims.md says it for rows
    age: Said[int] = None  # only for a live dispatch: seconds since the claim was recorded


class AdoptionView(Value):
    """The time in which a dispatch has had the bundle of its task."""

    dispatch: str
    kind: DispatchKind
    generation: int  # 1 for the first owner of the task's bundle, 2 for the next
    adopted_at: Time
    released_at: Time | None


class ClaimView(Value):
    class_: str
    id: Said[str] = None  # a row of the store that counts as a claim has no id, actor, failures or data
    kind: str
    name: str  # the name of the thing, for example the path of a worktree
    state: str  # allocating, live, releasing, releasing_blocked or failed_alloc
    dispatch: str | None  # the owner; null when the owner is a task's bundle, a job or a project
    project: str | None = None  # the project of the bundle or the job
    slug: str | None = None
    job: str | None = None  # the job whose runner started the process
    host: str
    actor: Said[str] = None  # the process that creates or removes the thing
    failures: Said[int] = None  # how often the release failed
    data: Said[dict[str, Any]] = None


class Excused(Value):
    """A dispatch, and the processes that a person has declared not to belong to its agent."""

    id: str
    not_ours: list[str]  # the processes that were declared now, as host/boot/pid/start


class SettledDispatchView(Excused):
    exec_state: ExecState  # done, blocked or failed
    left: list[str]  # what could not be released yet, and why


class DisownedDispatch(Value):
    """A dispatch or job of a fleet home that no longer exists, after a person gave it up."""

    id: str
    exec_state: str  # how the dispatch ended; for a job the state of the job
    was: str  # the home and host that it belonged to, in words
    claims: list[str]  # the claims that were given up or released
    left: list[str]  # what could not be released yet, and why


class PromptOutcome(Value):
    """What `fleet claims` prints for programs that publish and release prompts (claims.md)."""

    outcome: PromptResult  # acquired, released or rewritten, each also with already_ before it; inspected or disowned
    dispatch_id: str
    kind: str | None  # the kind of the claim; null from `inspect`
    path: str | None  # the file, when there is one


class Inspected(PromptOutcome):
    claims: list[JournalClaim]


class Disowned(PromptOutcome):
    count: int  # how many claims were given up
