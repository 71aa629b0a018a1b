"""Clear a project before it is removed: release everything that this project holds, and nothing of another project.

Each step can be repeated. The project stays registered until the last step. So if the process is killed in between,
everything still has an owner: `fleet project remove` continues, and `fleet clean` still knows everything.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.results.projects import Cleared, InTheWay
from fleet.model.tasks.steps import TERMINAL
from fleet.store import queries as q
from fleet.store import seats, tasks
from fleet.verbs.dispatch.reclaim import reclaim, release_bundle
from fleet.verbs.merge.keep_uncommitted import commit_kept_work, kept_worktrees
from fleet.verbs.projects.down import down, running_jobs
from fleet.verbs.tasks import reopen, report
from fleet.world.files.locks import FileLock
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch
    from fleet.verbs.context import Context


def in_the_way(context: Context, project: str) -> InTheWay:
    """Return what keeps a project from being removed: its coordinator, agents, tasks and running jobs. Changes nothing."""
    context.project(project)
    rows = _dispatches_of_project(context, project)
    seat = context.store.read(lambda snapshot: seats.seat(snapshot, project))
    unfinished = [row for row in rows if row.slug is not None and row.ended_at is None]
    working = [row.id for row in unfinished if row.kind != "finisher"]  # a merge is no agent; its task is named
    return InTheWay(
        project=project,
        coordinator=seat.holder,
        agents=working,
        tasks=_tasks_to_end(context, project, rows),
        jobs=running_jobs(context, project),
    )


def clear(context: Context, project: str) -> Cleared:
    """Stop the coordinator and the agents, end the tasks that hold something, and release their worktrees.

    Uncommitted work is first committed to refs of its own, which `kept` lists. A task that had not ended is abandoned;
    its reason names the status it had. `left` says what could not be stopped or released, and why. When something could
    not be stopped, nothing is ended or released.
    """
    stopped = down(context, project)
    if stopped.left:
        return Cleared(project=project, kept=[], left=stopped.left)
    rows = _dispatches_of_project(context, project)
    slugs = _tasks_to_end(context, project, rows)
    for slug in slugs:
        _end_task(context, project, slug)
    kept = _commit_uncommitted(context, project)
    left = [why for slug in slugs for why in release_bundle(context, project, slug)]
    left += [why for row in rows for why in reclaim(context, row.id)]
    return Cleared(project=project, kept=kept, left=list(dict.fromkeys(left)))


def remove_files(context: Context, project: str) -> None:
    """Remove the files that the home keeps for a project, and their empty folders. A lock file that is held stays.

    Call this before the project is removed from the database: a project without files is valid, files without a project
    are not.
    """
    home, files = context.world.home, context.world.files
    for name in paths.files_of_project(project):
        if os.path.lexists(f"{home}/{name}"):
            files.unlink(name)
    rules = paths.rules_folder(project)
    for name in files.names(rules):
        files.unlink(f"{rules}/{name}")
    locks = paths.lock_folders(project)
    for name in [f"{folder}/{name}" for folder in locks for name in files.names(folder)]:
        _remove_lock(context, name)
    folders = [paths.project_folder(project, name) for name in paths.FOLDERS_OF_PROJECT]
    for folder in (rules, *locks, *folders, f"{paths.PROJECTS}/{project}"):
        _remove_empty(context, f"{home}/{folder}")


def _remove_lock(context: Context, name: str) -> None:
    """Remove a lock file of a project while holding the lock; leave the file when another process holds the lock."""
    lock = FileLock(f"{context.world.home}/{name}", create=False)
    try:
        lock.take(0)
    except OSError:  # it is held, gone, or no file that can be locked
        return
    try:
        context.world.files.unlink(name)
    finally:
        lock.give()


def _remove_empty(context: Context, path: str) -> None:
    """Remove a folder of a project if it exists and is empty."""
    if os.path.isdir(path) and not os.listdir(path):
        context.world.funnel.through("remove folder of project", lambda: os.rmdir(path))


def _dispatches_of_project(context: Context, project: str) -> list[Dispatch]:
    """Return all dispatches of a project that are not archived, ended or not."""
    return context.store.read(lambda rows: q.listed_dispatches(rows, project=project, ended=1))


def _tasks_to_end(context: Context, project: str, rows: list[Dispatch]) -> list[str]:
    """Return the slugs of the tasks that clearing a project has to end.

    They are in progress, have a dispatch that is not archived, or hold a worktree or folder.
    """
    claims = context.store.read(q.open_claims)
    held = {claim.slug for claim in claims if claim.project == project and claim.slug}
    working = context.store.read(lambda snapshot: q.slugs_in_progress(snapshot, project=project))
    busy = {row.slug for row in working}
    return sorted({row.slug for row in rows if row.slug} | held | busy)


def _end_task(context: Context, project: str, slug: str) -> None:
    """Archive a task of a project that is being cleared. A task that has not ended is abandoned first."""
    was = context.store.read(lambda rows: tasks.state(rows, project, slug))
    if was.status not in TERMINAL:
        reason = f"its project is removed from fleet; it was {was.status}"
        context.commit(report.abandon(project=project, slug=slug, reason=reason, override=True))
    if not was.archived:
        context.commit(reopen.archive(project=project, slug=slug))


def _commit_uncommitted(context: Context, project: str) -> list[str]:
    """Commit what is uncommitted in the kept worktrees of archived tasks, each to a ref, and release those worktrees.

    Return the refs. A worktree whose work cannot be committed is skipped and stays.
    """
    trees = [tree for tree in kept_worktrees(context) if tree.project == project and tree.committable]
    return [commit_kept_work(context, project, tree.task).ref for tree in trees]


def refuse_left(cleared: Cleared) -> None:
    """Raise ProjectInUse, with what is left, when `clear` could not release everything."""
    if cleared.left:
        advice = "nothing is lost; see to these, then say it again"
        raise errors.ProjectInUse(project=cleared.project, tasks="; ".join(cleared.left), advice=advice)
