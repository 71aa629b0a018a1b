"""Register a repository as a project, and remove a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import names
from fleet.model.results.projects import Registration, Removed
from fleet.model.text.sizes import counted
from fleet.store import queries as q
from fleet.store.transaction import Change

if TYPE_CHECKING:
    from fleet.store.transaction import Rows, Tx

# The queries that remove a project's rows, in this order; the row of the project itself is the last.
_REMOVALS = (
    q.remove_wake,
    q.remove_restarts,
    q.remove_log,
    q.remove_artifacts,
    q.remove_tags,
    q.remove_edges,
    q.remove_job_steps,
    q.remove_items,
    q.remove_job_claims,
    q.remove_jobs,
    q.remove_verdicts,
    q.remove_merges,
    q.remove_tasks,
    q.remove_seat,
    q.remove_spawn_failures,
    q.remove_project,
)


def register(*, name: str, path: str) -> Change[Registration]:
    """Return the change that registers a repository under a name; repeating it changes nothing.

    Raises BadInput for a bad name. Committing it raises ProjectTaken when the name has another path, or the path
    another name.
    """
    names.project(name)

    def work(tx: Tx) -> Registration:
        tx.about(name)
        new = q.add_project(tx, name=name, path=path, at=tx.at)
        if not new:
            _refuse_taken(tx, name, path)
        tx.note(path=path)
        return Registration(name=name, path=path, new=new == 1)

    return Change(f"register project {name}", work, path, returns=Registration)


def _refuse_taken(tx: Tx, name: str, path: str) -> None:
    """Raise ProjectTaken when the name has another path, or the path another name."""
    same_name = q.project_by_name(tx, name=name)
    if same_name is not None and same_name.path != path:
        raise errors.ProjectTaken(what=same_name.path, project=name)
    same_path = q.project_by_path(tx, path=path)
    if same_path is not None and same_path.name != name:
        raise errors.ProjectTaken(what=path, project=same_path.name)


def remove(*, name: str, with_tasks: bool, kept: str | None = None, seen: int | None = None) -> Change[Removed]:
    """Return the change that removes a project from the database; its repository stays.

    `kept` is the file to which the tasks were copied, `seen` the number of the newest operation before that copy; both
    are None for a project without tasks. Committing it raises ProjectInUse when something of the project is in use, or
    when it has tasks and `with_tasks` is False; Contested when the project has changed since the copy.
    """
    names.project(name)

    def work(tx: Tx) -> Removed:
        tx.about(name)
        project = q.project_by_name(tx, name=name)
        if project is None:
            raise errors.NoSuchProject(project=name)
        count, journals = q.count_tasks(tx, project=name), q.count_dispatches(tx, project=name).n
        _refuse_job_claims(name, q.count_job_claims(tx, project=name).n)
        _refuse_in_use(name, tasks=count.n, working=count.working, journals=journals, with_tasks=with_tasks)
        if count.n and (seen is None or q.operation_since(tx, project=name, after=seen) is not None):
            raise errors.Contested(
                what=f"project {name!r} was changed while its tasks were copied; nothing was removed, try again"
            )
        for delete in _REMOVALS:
            delete(tx, project=name)
        tx.note(path=project.path, tasks=count.own, kept=kept)
        return Removed(name=name, path=project.path, tasks=count.own, kept=kept)

    return Change(f"remove project {name}", work, returns=Removed)


def is_removable(rows: Rows, name: str, *, with_tasks: bool) -> bool:
    """Return whether `remove` would succeed; False for a project that is not registered.

    False also while the project has processes of jobs, dispatches that are not archived, tasks in progress or, without
    `with_tasks`, any tasks.
    """
    if q.project_by_name(rows, name=name) is None:
        return False
    count, journals = q.count_tasks(rows, project=name), q.count_dispatches(rows, project=name).n
    jobs = q.count_job_claims(rows, project=name).n
    return not (jobs or journals or count.working or (count.n and not with_tasks))


def _refuse_job_claims(name: str, count: int) -> None:
    """Raise ProjectInUse when jobs of the project may have running processes."""
    if count:
        advice = "`fleet claims list exclusive job_process` shows them; end the jobs, or let `fleet clean` end what dead runners left"
        raise errors.ProjectInUse(project=name, tasks=f"{counted(count, 'job')} whose processes may run", advice=advice)


def _refuse_in_use(name: str, *, tasks: int, working: int, journals: int, with_tasks: bool) -> None:
    """Raise ProjectInUse for tasks in progress, dispatches that are not archived, or tasks without `with_tasks`."""
    if working:
        advice = f"`fleet task list -p {name} --status in_progress` shows them; `fleet project remove {name} --yes` leads through"
        raise errors.ProjectInUse(project=name, tasks=f"{counted(working, 'task')} in progress", advice=advice)
    if journals:
        advice = f"`fleet project remove {name} --yes` leads through; `fleet dispatches list` shows them"
        raise errors.ProjectInUse(
            project=name, tasks=f"{counted(journals, 'dispatch', 'dispatches')} not archived yet", advice=advice
        )
    if tasks and not with_tasks:
        advice = f"`fleet task export -p {name}` keeps a copy; --with-tasks removes them, and keeps one too"
        raise errors.ProjectInUse(project=name, tasks=counted(tasks, "task"), advice=advice)
