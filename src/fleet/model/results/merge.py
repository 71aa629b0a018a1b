"""Reviews, merges and pull requests."""

from __future__ import annotations

from fleet.model.results.tasks import ArtifactView, LogEntry
from fleet.model.results.value import OfTask, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.value import Time
    from fleet.model.states import MergeState, PullRequestState, ReviewVerdict, TaskStatus


class Merged(OfTask):
    commit: str  # the commit of the integration branch after the merge
    changed: bool  # `false`: all work was merged before, by another request
    left: list[str]  # what could not be released yet
    aside: list[str]  # ignored files of the worktree that were moved into the trash: how many, where, until when


class Unmerged(OfTask):
    """A task that was not merged."""

    why: str
    hint: str  # what to do about it


class MergedTogether(Value):
    """What became of tasks that were merged together."""

    project: str
    merged: list[Merged]  # in the order of their merge commits
    refused: list[Unmerged]  # the exit code is 14 when there are any


class Landing(Value):
    """What has landed on the target branch, or would land there."""

    project: str
    target: str  # your branch
    integration: str  # the branch that work is merged into
    commits: int  # how many commits of the integration branch the target does not have
    moved: bool  # the target was moved
    run: str | None  # the command that lands the work, when fleet may not move the target; the exit code is 14 then
    why: str | None  # why the target was not moved
    diverged: bool  # the target has its own commits, so that landing needs a merge
    titles: list[str]  # the titles of the commits that the target does not have


class PullRequestView(OfTask):
    address: str | None
    state: PullRequestState  # open, merged, closed or unknown
    changed: bool  # the pull request was opened, or the task changed
    why: str | None = None  # why the state is unknown


class Waiting(Value):
    """A task that waits for a review."""

    project: str
    slug: str
    title: str
    status: TaskStatus  # in_progress; blocked when the reviewer ended without a verdict
    assignee: str | None  # who did the work
    fixes: int  # how often an agent was started to mend the work
    reason: str | None
    priority: int
    changed_at: Time  # since when it waits


class Work(Value):
    """The work of a task as a reviewer sees it."""

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
    commit: str | None  # the shown commit: the tip of the task's branch; null when there is no branch
    reported: str | None  # the commit that was reported, or accepted later
    moved: bool  # the branch is not at the reported commit
    left_uncommitted: str | None  # why the agent left changes uncommitted; null when it left none
    commits: list[str]  # the first line of each commit, newest first
    stat: str  # the changed files, and how much of each
    diff: str  # the difference to the integration branch
    since: WorkSince | None  # what is new since the last verdict, or since the report when the branch moved
    verify: Tried | None  # only with --verify: whether the work merges and passes the verify command


class WorkSince(Value):
    commit: str  # the earlier commit that the work is compared with
    stat: str  # the changed files, and how much of each
    diff: str  # the difference, without changes that came from the integration branch


class Judgement(Value):
    """One verdict of a review."""

    at: Time
    actor: str
    verdict: ReviewVerdict  # accept, or send back
    comments: str
    work: str | None  # the commit that the verdict is about
    counted: bool  # false: another verdict came first, or the reviewer was superseded; only the comments are kept


class Tried(Value):
    """The result of a rehearsed merge."""

    ok: bool  # the work merges, and its verify command, if it has one, passes on the merged files
    says: str  # what happened
    commit: str | None  # the commit that was tried


class MergeView(Value):
    task: str  # the task's slug
    at: Time
    state: MergeState  # contained, missing, or acknowledged as missing
    by: str | None  # who acknowledged that the merge is missing
    project: str
    integration: str  # the branch that the work was merged into
    made: str  # the merge commit
    work: str  # the task's commit
    base: str  # the commit of the integration branch before the merge
    reason: str | None  # why the merge is missing, as the person who acknowledged it says


class MergesRestored(Value):
    project: str
    restored: list[str]  # tasks whose merges were missing
    commit: str | None  # the commit of the integration branch now
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
