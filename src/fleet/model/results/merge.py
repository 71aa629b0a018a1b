"""Reviews, merges and pull requests."""

from __future__ import annotations

from fleet.model.results.tasks import ArtifactView, LogEntry
from fleet.model.results.value import OfTask, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.value import Time
    from fleet.model.states import MergeState, PullRequestState, ReviewVerdict, TaskStatus


class Merged(OfTask):
    commit: str  # the integration branch after it
    changed: bool  # `false`: there was nothing that was not merged
    left: list[str]  # what could not be released yet
    aside: list[str]  # ignored files of its worktree that were put into the trash: how many, where, until when


class Landing(Value):
    project: str
    target: str  # your branch
    integration: str  # the branch that work is merged into
    commits: int  # how many the target does not have
    moved: bool
    run: str | None  # the command that lands it, when somebody has the target in hand; the exit code is 14 then
    why: str | None  # why it was not touched
    diverged: bool  # the target has commits of its own: to land is to merge
    titles: list[str]  # of these commits


class PullRequestView(OfTask):
    address: str | None
    state: PullRequestState  # open, merged, closed or unknown
    changed: bool  # it was opened, or the task moved on
    why: str | None = None  # why its state is unknown


class Waiting(Value):
    project: str
    slug: str
    title: str
    status: TaskStatus  # in_progress; blocked when an agent's review came to nothing
    assignee: str | None  # whose work it is
    fixes: int  # how often it was sent back
    reason: str | None
    priority: int
    changed_at: Time  # since when it waits


class Work(Value):
    project: str
    slug: str
    title: str
    description: str
    status: TaskStatus
    stage: str
    assignee: str | None
    log: list[LogEntry]
    artifacts: list[ArtifactView]
    verdicts: list[Judgement]  # oldest first
    commit: str | None  # the commit that is shown: where the task's branch is; null without a branch
    reported: str | None  # the commit that was reported, or accepted since
    moved: bool  # whether the branch is elsewhere than it was reported
    commits: list[str]  # their first lines, newest first
    stat: str  # which files, and how much
    diff: str  # against the integration branch
    since: WorkSince | None  # what is new since the last verdict, or since the report if the branch moved
    verify: Tried | None  # with --verify: whether it merges and passes


class WorkSince(Value):
    commit: str  # what it is compared with
    stat: str  # which files, and how much
    diff: str  # the difference alone, without what came in from the integration branch


class Judgement(Value):
    at: Time
    actor: str
    verdict: ReviewVerdict  # accept, or send back
    comments: str
    work: str | None  # the commit that it speaks of


class Tried(Value):
    ok: bool  # it merges, and the verify command passes on the merged tree
    says: str  # what happened
    commit: str | None  # the commit that was tried


class MergeView(Value):
    task: str  # its slug
    at: Time
    state: MergeState  # contained, missing, or acknowledged as gone
    by: str | None  # who acknowledged it
    project: str
    integration: str  # the branch
    made: str  # the merge commit
    work: str  # the task's commit
    base: str  # the branch before the merge
    reason: str | None  # why it is meant to be gone


class MergesRestored(Value):
    project: str
    restored: list[str]  # tasks whose merges were missing
    commit: str | None  # where the integration branch is now
    changed: bool


class MergesAcknowledged(Value):
    project: str
    acknowledged: list[str]  # tasks whose merges were missing
    changed: bool


class VerdictView(OfTask):
    verdict: ReviewVerdict  # accept, or send back
    status: TaskStatus  # in_progress, or blocked
    stage: str  # finisher, or fix
    changed: bool
