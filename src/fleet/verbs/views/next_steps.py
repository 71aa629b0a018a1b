"""Find the next steps of tasks, from the store and from git's files without starting git.

Only a worktree that is not on its task's branch costs a git command.
"""

from __future__ import annotations

import os

from fleet import errors
from fleet.model.branches import head_ref, task_branch
from fleet.model.dispatch.resumption import why_finished
from fleet.model.tasks.next_step import TaskFacts, next_step
from fleet.model.tasks.pipeline import STAGE_OF
from fleet.store import queries as q
from fleet.world.git import refs
from fleet.world.home import paths

# How many names for a branch with rescued commits are tried.
_MOST_RESCUES = 50
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.model.results.tasks import NextStep
    from fleet.model.tasks.next_step import Branch, Tree
    from fleet.store.queries import Project, StepFacts
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Context

    Key = tuple[str, str]


def step_of_task(context: Context, project: str, slug: str) -> NextStep | None:
    """Return the next step of one task; None when there is no such task."""
    return steps_of_tasks(context, [(project, slug)]).get((project, slug))


def steps_of_tasks(context: Context, keys: Sequence[Key]) -> dict[Key, NextStep]:
    """Return the next step of each of these tasks that exists, by project and slug."""
    return decide_steps(context, context.store.read(lambda rows: read_facts(rows, keys)))


def read_facts(rows: Rows, keys: Sequence[Key]) -> list[StepFacts]:
    """Return what the store knows of these tasks and their last attempts, read by one query for all tasks."""
    width = max((len(name) for key in keys for name in key), default=0)
    projects, slugs = (
        ("".join(name.ljust(width) for name in names) for names in zip(*keys, strict=True)) if keys else ("", "")
    )
    return q.step_facts(rows, count=len(keys), width=width, projects=projects, slugs=slugs) if keys else []


def decide_steps(context: Context, found: Sequence[StepFacts]) -> dict[Key, NextStep]:
    """Return the next steps of tasks whose facts were read, by project and slug. Reads git's files, not the store."""
    if not found:
        return {}
    known = context.projects()
    tips = {name: _branch_tips(known[name], [row.slug for row in found if row.project == name]) for name in known}
    return {
        (row.project, row.slug): next_step(
            _with_git(context, known[row.project], tips[row.project], _stored_facts(context, row))
        )
        for row in found
        if row.project in known
    }


def _is_resumable(context: Context, row: StepFacts) -> bool:
    """Return whether a task's last attempt can be resumed.

    It can when this home made the attempt, the attempt has left work to go on with, and the task is still at the stage
    that the attempt worked on.
    """
    if row.left_kind is None or row.stage != STAGE_OF.get(row.left_kind):
        return False
    if why_finished(row, parked=row.status == "blocked" and bool(row.is_parked)):
        return False
    from fleet.verbs.homes.ownership import is_own

    return is_own(context, row)


def _branch_tips(project: Project, slugs: Sequence[str]) -> dict[str, str] | None:
    """Return the commits of the tasks' branches that exist, by branch name; None when git's files cannot be read."""
    if not slugs:
        return {}
    try:
        return refs.branches(refs.git_dir(project.path), tuple(map(task_branch, slugs)))
    except (OSError, UnicodeDecodeError):
        return None


def _stored_facts(context: Context, row: StepFacts) -> TaskFacts:
    """Return the facts about a task that the store knows; `_with_git` adds those that git knows."""
    now = context.world.clock.now()
    return TaskFacts(
        project=row.project,
        slug=row.slug,
        status=row.status,
        stage=row.stage,
        paused=bool(row.paused),
        archived=bool(row.archived),
        attempted=bool(row.attempted),
        blockers=row.open_blockers,
        is_early=row.not_before is not None and row.not_before > now,
        fixes=row.fixes,
        job=row.job,
        work=row.work,
        is_merged=row.merged is not None,
        is_pulled=row.pull_request is not None,
        has_bundle=bool(row.bundled),
        holder=row.assignee,
        is_agents=bool(row.is_agents),
        is_handed=bool(row.is_handed),
        is_resumable=_is_resumable(context, row),
        question=row.question,
    )


def _with_git(context: Context, project: Project, tips: dict[str, str] | None, facts: TaskFacts) -> TaskFacts:
    """Return the facts with those about the task's branch and worktree added.

    `tips` are the commits of the branches by name, None when git's files cannot be read.
    """
    name, worktree = task_branch(facts.slug), f"{context.world.home}/{paths.worktree(facts.project, facts.slug)}"
    branch: Branch = "unknown" if tips is None else "there" if name in tips else "gone"
    if branch == "gone" and not facts.has_bundle:
        branch = "unknown"  # no agent has begun yet
    head = refs.head_of(worktree)
    # Without the branches, no command to repair the worktree can be suggested.
    tree: Tree = "unknown" if tips is None else _worktree_place(worktree, head, name)
    is_ahead = False
    if tips and branch == "there" and tree in {"other branch", "no branch"}:
        tip = refs.head_commit(worktree)
        is_ahead = tip is not None and context.world.git.is_in(project.path, tips[name], tip) is True
    return facts.replaced(
        repository=project.path,
        worktree=worktree,
        integration=_integration_branch(context, facts.project) if branch == "gone" else "",
        branch=branch,
        tree=tree,
        is_ahead=is_ahead,
        rescue=_free_name(project, f"rescued/{facts.slug}") if tree == "no branch" else "",
    )


def _free_name(project: Project, wanted: str) -> str:
    """Return a branch name that is not taken: the wanted one, else the wanted one with a number.

    When all names that were tried are taken, return the wanted one.
    """
    names = (wanted, *(f"{wanted}-{number}" for number in range(2, _MOST_RESCUES)))
    taken = refs.branches(refs.git_dir(project.path), names) or {}
    return next((name for name in names if name not in taken), wanted)


def _worktree_place(worktree: str, head: str | None, branch: str) -> Tree:
    """Return where a worktree is: on `branch` ("there"), on another branch, on no branch, gone or unknown.

    `head` is the content of its HEAD; None when it cannot be read. In the middle of a rebase of `branch` the worktree
    counts as being on `branch`, because git would refuse a checkout and the next agent continues there.
    """
    if head is None:
        return "unknown" if os.path.lexists(worktree) else "gone"
    if not head.startswith("ref:"):
        return "there" if refs.rebased_branch(worktree) == branch else "no branch"
    return "there" if head.removeprefix("ref:").strip() == head_ref(branch) else "other branch"


def _integration_branch(context: Context, project: str) -> str:
    """Return the project's integration branch; "" when its settings cannot be read, which an obstacle then shows."""
    try:
        return context.settings(project).integration
    except (errors.BadSetting, errors.NotTrusted):
        return ""
