"""Dispatches and what they hold."""

from __future__ import annotations

from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.model.results.value import Said, Time
    from fleet.model.states import AskedFor, DispatchKind, ExecState, ReclState, Report, Resumes


class Dispatched(Value):
    id: str  # the dispatch's id, which is also the agent's
    project: str
    task: str | None  # its slug; null for a coordinator or a job
    kind: DispatchKind  # worker, reviewer, finisher, fix, rebase or coord
    engine: str
    session: str  # the tmux session
    worktree: str  # the directory it works in
    branch: str | None


class Ended(Value):
    id: str
    settled: bool  # false: it was asked to exit, but its death is not proven yet
    why: Said[str] = None  # why it is not settled
    strangers: Said[str] = (
        None  # processes in its worktree that nobody can attribute, and that keep it from being settled
    )
    way: Said[str] = None  # what a person can do about them
    exec_state: Said[ExecState] = None  # done, blocked or failed
    left: Said[list[str]] = None  # what could not be released yet


class Resumed(Dispatched):
    """Of a job: as `fleet job run` prints it."""

    predecessor: str  # the agent whose work it goes on with
    conversation: bool  # whether it goes on in that one's conversation, or starts again from what it left
    stopped: str | None  # whose resume was stopped by --force


class Resumable(Value):
    id: str
    project: str
    task: str | None  # its slug; null for a coordinator or a job
    kind: str  # that of the dispatch, or job
    engine: str | None
    ended_at: Time | None
    reason: str  # why it ended
    interrupted: bool  # it was lost, and `--all` brings it back; what was stopped is resumed by its id
    conversation: bool  # whether it would go on in its conversation


class ResumedMany(Value):
    resumed: list[Resumed]
    waiting: list[Unresumed]
    jobs: list[str]  # jobs that go on, each with a runner in the background


class Unresumed(Resumable):
    why: str  # why it could not be resumed now


class _Attempt(Value):
    id: str
    kind: DispatchKind
    project: str
    slug: str | None
    owner: str  # project/P/slug/S or coord/P
    engine: str | None
    exec_state: ExecState  # pending, in_flight, done, blocked or failed
    recl_state: ReclState  # pending, complete, partial or blocked
    report: Report | None
    blocked_reason: str | None
    created_at: Time
    updated_at: Time
    launched_at: Time | None
    ended_at: Time | None
    reported_at: Time | None
    asked_at: Time | None


class DispatchView(_Attempt):
    claims: int  # how many are not released


class Journal(_Attempt):
    host: str
    host_id: str  # the same
    home: str | None  # the id of the home that made it; null when it was made before homes had ids
    tmux_socket: str
    schema: int
    report_reason: str | None
    reported_commit: str | None  # where the task's branch was when its agent reported
    settled_commit: str | None  # where it was when the dispatch was settled
    descendants: str  # processes that descended from the agent, as a JSON list
    asked_for: AskedFor | None
    asked_reason: str | None
    exit_status: int | None
    predecessor: str | None  # the dispatch whose work it went on with
    autonomy: str | None
    model: str | None
    command: str | None  # its words, as JSON
    base: str | None  # the commit it began from
    spawner: str | None  # the process that dispatched it
    process: str | None  # its own
    server: str | None  # its tmux server's
    handoffs: int  # how many handoffs led to it
    successor: str | None  # the dispatch that it was handed off to
    resumes: Resumes | None  # of a resume: `conversation` or `again`
    claims: list[JournalClaim]  # of a live one the bundle that it owns too
    adoptions: list[AdoptionView]  # who had the task's worktree, oldest first
    archived: Said[bool] = None  # it was read from the archive


class JournalClaim(Value):
    class_: str  # exclusive, adoptable, delivery, derived or audit
    kind: str
    state: str
    data: dict[str, Any]
    look: str | None = None  # of a live one: ours, absent, foreign or unknown, looked at just now


class AdoptionView(Value):
    dispatch: str
    kind: str
    generation: int
    adopted_at: Time
    released_at: Time | None


class ClaimView(Value):
    class_: str
    id: Said[str] = None  # a row of the store that counts as a claim has neither id, actor, failures nor data
    kind: str
    name: str
    state: str  # allocating, live, releasing, releasing_blocked or failed_alloc
    dispatch: str | None  # its owner; null for a task's bundle and for what a job's runner started
    project: str | None = None  # whose bundle, or whose job
    slug: str | None = None
    job: str | None = None  # the job whose runner started it
    host: str
    actor: Said[str] = None  # the process that makes or removes it
    failures: Said[int] = None  # how often its release failed
    data: Said[dict[str, Any]] = None


class Excused(Value):
    id: str
    not_ours: list[str]  # processes that were said now not to be the agent's, as host/boot/pid/start


class SettledDispatchView(Excused):
    exec_state: ExecState  # done, blocked or failed
    left: list[str]  # what could not be released yet, and why


class DisownedDispatch(Value):
    id: str
    exec_state: str  # how it has ended; of a job its state
    was: str  # the home and host that it belonged to, in words
    claims: list[str]  # what was given up as rows, or freed
    left: list[str]  # what could not be released yet, and why


class PromptOutcome(Value):
    """What the commands print that programs call to publish and release prompts."""

    outcome: str  # acquired, released, rewritten, each perhaps with already_ before it, inspected or disowned
    dispatch_id: str
    kind: str | None
    path: str | None


class Inspected(PromptOutcome):
    claims: list[JournalClaim]


class Disowned(PromptOutcome):
    count: int  # how many claims were given up
