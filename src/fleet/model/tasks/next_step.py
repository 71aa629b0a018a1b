"""Decide the next step of a task: the one command to run, or what the task waits for. Pure.

All views and all refusals name this same step, so that they never contradict each other.
"""

from __future__ import annotations

from fleet.model.branches import task_branch
from fleet.model.results.tasks import NextStep
from fleet.model.results.value import Value
from fleet.model.states import assert_never
from fleet.model.tasks.pipeline import MENDING, MOST_FIXES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from fleet.model.states import TaskStatus

    # What the task's worktree has checked out: the task's branch or a rebase of it ("there"), another branch, or none.
    # "gone": the worktree was removed. "unknown": git cannot say.
    Tree = Literal["there", "other branch", "no branch", "gone", "unknown"]
    Branch = Literal["there", "gone", "unknown"]

# At these stages the work exists already; without its branch nobody can continue it.
_WITH_WORK = frozenset({"review", "finisher", "fix", "rebase"})
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_")


class TaskFacts(Value):
    """The facts that decide the next step of a task."""

    project: str
    slug: str
    status: TaskStatus
    stage: str
    paused: bool
    archived: bool
    attempted: bool  # a dispatch works on it
    blockers: int  # dependencies that are neither done nor abandoned
    is_early: bool  # it waits for a time
    fixes: int  # how many agents were started to mend its work
    job: str | None
    work: str | None  # the commit that was reported or accepted last
    is_merged: bool
    is_pulled: bool  # it has a pull request
    has_bundle: bool  # an agent has worked on it
    holder: str | None  # its assignee: a dispatch or a person
    is_agents: bool  # the holder is a dispatch
    is_handed: bool  # a handoff waits for its successor
    is_resumable: bool  # its last agent ended before the work was finished, and nobody has continued the task since
    question: str | None = None  # the oldest question of the holder that nobody has answered
    repository: str = ""
    worktree: str = ""
    integration: str = ""  # the integration branch, if the task's branch is gone; empty if the settings cannot be read
    branch: Branch = "unknown"
    tree: Tree = "unknown"
    rescue: str = ""  # a free name for a new branch, which keeps the worktree's commits when they are on no branch
    is_ahead: bool = False  # the worktree is not on the task's branch, but has every commit of that branch


def next_step(facts: TaskFacts) -> NextStep:
    """Return the next step of a task: a command to run, or no command and the reason."""
    if facts.job is not None:
        return NextStep(says=f"job {facts.job} works on it", command=None)
    if facts.attempted:
        return _step_at_work(facts)
    if facts.archived or facts.is_merged or facts.status == "abandoned":
        return NextStep(says="nothing is left to do", command=None)
    if facts.status == "done":
        return _step_of_done(facts)
    if facts.paused:
        return _fleet_command(facts, "task unpause", "it is paused")
    return _step_of_repair(facts) or _step_of_status(facts)


def _step_at_work(facts: TaskFacts) -> NextStep:
    """Return the next step of a task with an agent: to answer its question, or none while it works."""
    if facts.question is not None:
        return NextStep(says=f"{facts.holder} waits for an answer", command=f"fleet questions {facts.question}")
    return NextStep(says=f"{facts.holder or 'an agent'} works on it", command=None)


def _step_of_status(facts: TaskFacts) -> NextStep:
    """Return the next step of a task that is neither paused nor in need of repair, by its status."""
    match facts.status:
        case "open":
            return _step_of_open(facts)
        case "in_progress":
            return _step_of_unattended(facts)
        case "blocked" | "failed":
            return _step_of_stopped(facts)
        case "done" | "abandoned":
            return NextStep(says="nothing is left to do", command=None)
        case _:
            return assert_never(facts.status)


def _step_of_done(facts: TaskFacts) -> NextStep:
    """Return the next step of a done task: merge its work, or nothing when it has no unmerged work."""
    if facts.has_bundle and facts.branch != "gone" and not facts.is_pulled:
        return _fleet_command(facts, "merge", "its work is not merged")
    return NextStep(says="nothing is left to do", command=None)


def _step_of_open(facts: TaskFacts) -> NextStep:
    """Return the next step of an open task: wait for its dependencies or its time, else what its stage needs."""
    if facts.blockers:
        return NextStep(says="it waits for other tasks", command=None)
    if facts.is_early:
        return NextStep(says="it waits for its time", command=None)
    return _step_of_stage(facts)


def _step_of_stage(facts: TaskFacts) -> NextStep:
    """Return the next step at the stage of a task: a review, an agent, a merge; no command while its pull request is open."""
    if facts.stage == "review":
        return _fleet_command(facts, "review", "its work waits for a verdict")
    if facts.stage != "finisher":
        return _fleet_command(facts, "dispatch", "it waits for an agent")
    if facts.is_pulled:
        return NextStep(says="its pull request is open", command=None)
    return _fleet_command(facts, "merge", "its work waits to be merged")


def _step_of_unattended(facts: TaskFacts) -> NextStep:
    """Return the next step of a task in progress on which no agent works now."""
    if facts.stage in {"review", "finisher"}:
        return _step_of_stage(facts)
    if facts.is_handed:
        return NextStep(says="the successor of its agent is about to start", command=None)
    if not facts.is_agents:
        return NextStep(says=f"{facts.holder} works on it", command=None)
    return _fleet_command(facts, "task unclaim", f"its agent {facts.holder} ended without a successor", "--override")


def _step_of_stopped(facts: TaskFacts) -> NextStep:
    """Return the next step of a blocked or failed task."""
    if facts.status == "blocked" and facts.stage == "review":
        return _fleet_command(facts, "review", "its work waits for a person's verdict")
    if facts.is_resumable:
        return _fleet_command(facts, "resume", "its agent ended before the work was finished")
    if facts.status == "blocked" and facts.stage in MENDING and facts.fixes < MOST_FIXES:
        return _fleet_command(facts, "dispatch", "an agent mends it")
    if facts.status == "blocked" and facts.stage in MENDING:
        return _fleet_command(facts, "task retry", f"{facts.fixes} agents could not mend it; this lets others try")
    return _fleet_command(facts, "task retry", "it goes on at its stage when it is opened again")


# branch and worktree --------------------------------------------------------------------------------------------------
def _step_of_repair(facts: TaskFacts) -> NextStep | None:
    """Return the next step that repairs the branch or the worktree of a task; None when nothing has to be repaired.

    Such a step never deletes a commit or a file: git refuses its command where something would be lost.
    """
    branch, tree = task_branch(facts.slug), facts.tree
    if facts.branch == "gone" and tree not in {"no branch", "other branch"}:
        return _step_without_branch(facts, branch)
    if _needs_no_tree(facts):
        return None
    if tree == "no branch" and not facts.is_ahead and facts.branch == "there":
        says = f"its worktree is on no branch, with commits that {branch} does not have; this keeps them"
        return _git(facts.worktree, f"switch --create {facts.rescue or f'rescued/{facts.slug}'}", says)
    if tree in {"no branch", "other branch"}:
        words = f"checkout -B {branch}" if facts.is_ahead or facts.branch == "gone" else f"checkout {branch}"
        return _git(facts.worktree, words, f"its worktree is not on {branch}; this brings it back")
    return None


def _needs_no_tree(facts: TaskFacts) -> bool:
    """Return whether the next step is a review or a merge, which need the task's branch but not its worktree."""
    if facts.stage == "review":
        return not (facts.status == "failed" and facts.is_resumable)
    return facts.stage == "finisher" and facts.status != "blocked"


def _step_without_branch(facts: TaskFacts, branch: str) -> NextStep | None:
    """Return the next step of a task whose branch is gone; None when an agent can begin without the branch."""
    if facts.work is not None and facts.stage in _WITH_WORK:
        return _git(facts.repository, f"branch {branch} {facts.work[:12]}", f"{branch} is gone; this puts it back")
    if facts.tree == "there" and not facts.integration:
        return NextStep(
            says=f"{branch} is gone, and the project's settings, which name its base, are bad", command=None
        )
    if facts.tree == "there":
        says = f"{branch} is gone, and its worktree is still there; this makes the branch anew"
        return _git(facts.repository, f"branch {branch} {facts.integration}", says)
    if facts.stage not in {"review", "finisher"}:
        return None
    says = f"{branch} is gone, and no commit of it is known"
    if facts.status in {"open", "in_progress"}:
        return _fleet_command(facts, "task fail", says, "--reason", quoted("its branch is lost"))
    return _fleet_command(facts, "task retry", says, "--anew")


# words ----------------------------------------------------------------------------------------------------------------
def _fleet_command(facts: TaskFacts, verb: str, says: str, *more: str) -> NextStep:
    """Return the step to run a fleet command on the task, with the reason `says`."""
    return NextStep(says=says, command=" ".join(["fleet", verb, facts.slug, "-p", facts.project, *more]))


def _git(path: str, words: str, says: str) -> NextStep:
    """Return the step to run git in a folder, with the reason `says`."""
    return NextStep(says=says, command=f"git -C {quoted(path)} {words}")


def quoted(word: str) -> str:
    """Return a word quoted for a shell."""
    if word and _PLAIN.issuperset(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"
