"""The queries of sql/projects.sql, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.queries.shared import Count
from fleet.store.row import Query, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import TaskStatus
    from fleet.store.transaction import Rows, Tx


class Project(Row):
    __slots__ = (
        'name',
        'path',
        'added_at',
    )

    def __init__(
        self,
        name: str,
        path: str,
        added_at: int,
    ) -> None:
        self.name = name
        self.path = path
        self.added_at = added_at


class SetupFailure(Row):
    __slots__ = (
        'setup_failure',
        'setup_dispatch',
        'setup_failed_at',
    )

    def __init__(
        self,
        setup_failure: str | None,
        setup_dispatch: str | None,
        setup_failed_at: int | None,
    ) -> None:
        self.setup_failure = setup_failure
        self.setup_dispatch = setup_dispatch
        self.setup_failed_at = setup_failed_at


class StatusCount(Row):
    __slots__ = (
        'project',
        'status',
        'archived',
        'n',
    )

    def __init__(
        self,
        project: str,
        status: TaskStatus,
        archived: int,
        n: int,
    ) -> None:
        self.project = project
        self.status = status
        self.archived = archived
        self.n = n


class ReadyCount(Row):
    __slots__ = (
        'project',
        'n',
    )

    def __init__(
        self,
        project: str,
        n: int,
    ) -> None:
        self.project = project
        self.n = n


class TaskCount(Row):
    __slots__ = (
        'n',
        'own',
        'working',
    )

    def __init__(
        self,
        n: int,
        own: int,
        working: int,
    ) -> None:
        self.n = n
        self.own = own
        self.working = working


class DispatchCount(Row):
    __slots__ = (
        'project',
        'active',
        'blocked',
    )

    def __init__(
        self,
        project: str,
        active: int,
        blocked: int,
    ) -> None:
        self.project = project
        self.active = active
        self.blocked = blocked


class ReclaimTrouble(Row):
    __slots__ = (
        'kind',
        'n',
    )

    def __init__(
        self,
        kind: str,
        n: int,
    ) -> None:
        self.kind = kind
        self.n = n


ADD_PROJECT = Query(
    'add_project',
    'INSERT INTO projects (name, path, added_at) VALUES (:name, :path, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO projects (name, path, added_at) VALUES (%(name)s, %(path)s, %(at)s) ON CONFLICT DO NOTHING',
    None,
)


def add_project(tx: Tx, /, *, name: str, path: str, at: int) -> int:
    """Register a repository."""
    return tx.write(ADD_PROJECT, {'name': name, 'path': path, 'at': at})


PROJECT_BY_NAME = Query(
    'project_by_name',
    'SELECT name, path, added_at FROM projects WHERE name = :name',
    'SELECT name, path, added_at FROM projects WHERE name = %(name)s',
    Project,
)


def project_by_name(rows: Rows, /, *, name: str) -> Project | None:
    """A project by its name."""
    return rows.select_one(PROJECT_BY_NAME, Project, {'name': name})


PROJECT_BY_PATH = Query(
    'project_by_path',
    'SELECT name, path, added_at FROM projects WHERE path = :path',
    'SELECT name, path, added_at FROM projects WHERE path = %(path)s',
    Project,
)


def project_by_path(rows: Rows, /, *, path: str) -> Project | None:
    """The project whose repository is at a path."""
    return rows.select_one(PROJECT_BY_PATH, Project, {'path': path})


ALL_PROJECTS = Query(
    'all_projects',
    'SELECT name, path, added_at FROM projects ORDER BY name',
    'SELECT name, path, added_at FROM projects ORDER BY name',
    Project,
)


def all_projects(rows: Rows, /) -> list[Project]:
    """All projects, by name."""
    return rows.select_all(ALL_PROJECTS, Project, {})


SETUP_FAILURE_OF = Query(
    'setup_failure_of',
    'SELECT setup_failure, setup_dispatch, setup_failed_at FROM projects WHERE name = :project AND setup_failure IS NOT NULL',
    'SELECT setup_failure, setup_dispatch, setup_failed_at FROM projects WHERE name = %(project)s AND setup_failure IS NOT NULL',
    SetupFailure,
)


def setup_failure_of(rows: Rows, /, *, project: str) -> SetupFailure | None:
    """Why the last setup of a project's worktree failed; no row when it succeeded."""
    return rows.select_one(SETUP_FAILURE_OF, SetupFailure, {'project': project})


NOTE_SETUP_FAILURE = Query(
    'note_setup_failure',
    'UPDATE projects SET setup_failure = :why, setup_dispatch = :dispatch, setup_failed_at = :at WHERE name = :project',
    'UPDATE projects SET setup_failure = %(why)s, setup_dispatch = %(dispatch)s, setup_failed_at = %(at)s WHERE name = %(project)s',
    None,
)


def note_setup_failure(tx: Tx, /, *, why: str | None, dispatch: str | None, at: int | None, project: str) -> int:
    """Record that the setup of a project's worktree failed."""
    return tx.write(NOTE_SETUP_FAILURE, {'why': why, 'dispatch': dispatch, 'at': at, 'project': project})


FORGET_SETUP_FAILURE = Query(
    'forget_setup_failure',
    'UPDATE projects SET setup_failure = NULL, setup_dispatch = NULL, setup_failed_at = NULL WHERE name = :project',
    'UPDATE projects SET setup_failure = NULL, setup_dispatch = NULL, setup_failed_at = NULL WHERE name = %(project)s',
    None,
)


def forget_setup_failure(tx: Tx, /, *, project: str) -> int:
    """Clear the recorded failure, because the setup of a worktree succeeded."""
    return tx.write(FORGET_SETUP_FAILURE, {'project': project})


PROJECT_COUNTS = Query(
    'project_counts',
    'SELECT project, status, archived, COUNT(*) AS n FROM tasks WHERE job IS NULL GROUP BY project, status, archived',
    'SELECT project, status, archived, COUNT(*) AS n FROM tasks WHERE job IS NULL GROUP BY project, status, archived',
    StatusCount,
)


def project_counts(rows: Rows, /) -> list[StatusCount]:
    """How many tasks each project has in each status, with archived ones counted apart."""
    return rows.select_all(PROJECT_COUNTS, StatusCount, {})


READY_COUNTS = Query(
    'ready_counts',
    "SELECT project, COUNT(*) AS n FROM tasks WHERE status = 'open' AND open_blockers = 0 AND paused = 0 AND job IS NULL AND (not_before IS NULL OR not_before <= :now) GROUP BY project",
    "SELECT project, COUNT(*) AS n FROM tasks WHERE status = 'open' AND open_blockers = 0 AND paused = 0 AND job IS NULL AND (not_before IS NULL OR not_before <= %(now)s) GROUP BY project",
    ReadyCount,
)


def ready_counts(rows: Rows, /, *, now: int) -> list[ReadyCount]:
    """How many tasks of each project could be started now."""
    return rows.select_all(READY_COUNTS, ReadyCount, {'now': now})


COUNT_TASKS = Query(
    'count_tasks',
    "SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN job IS NULL THEN 1 ELSE 0 END), 0) AS own, COALESCE(SUM(CASE WHEN status = 'in_progress' THEN 1 ELSE 0 END), 0) AS working FROM tasks WHERE project = :project",
    "SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN job IS NULL THEN 1 ELSE 0 END), 0) AS own, COALESCE(SUM(CASE WHEN status = 'in_progress' THEN 1 ELSE 0 END), 0) AS working FROM tasks WHERE project = %(project)s",
    TaskCount,
)


def count_tasks(rows: Rows, /, *, project: str) -> TaskCount:
    """How many tasks a project has, how many of them do not belong to a job, and how many are in progress."""
    return rows.select_exactly_one(COUNT_TASKS, TaskCount, {'project': project})


COUNT_DISPATCHES = Query(
    'count_dispatches',
    'SELECT COUNT(*) AS n FROM dispatches WHERE project = :project',
    'SELECT COUNT(*) AS n FROM dispatches WHERE project = %(project)s',
    Count,
)


def count_dispatches(rows: Rows, /, *, project: str) -> Count:
    """How many dispatches of a project are still in the tables."""
    return rows.select_exactly_one(COUNT_DISPATCHES, Count, {'project': project})


REMOVE_LOG = Query(
    'remove_log',
    'DELETE FROM task_log WHERE project = :project',
    'DELETE FROM task_log WHERE project = %(project)s',
    None,
)


def remove_log(tx: Tx, /, *, project: str) -> int:
    """Delete the log entries of a project's tasks."""
    return tx.write(REMOVE_LOG, {'project': project})


REMOVE_ARTIFACTS = Query(
    'remove_artifacts',
    'DELETE FROM artifacts WHERE project = :project',
    'DELETE FROM artifacts WHERE project = %(project)s',
    None,
)


def remove_artifacts(tx: Tx, /, *, project: str) -> int:
    """Delete the artifacts of a project's tasks."""
    return tx.write(REMOVE_ARTIFACTS, {'project': project})


REMOVE_TAGS = Query(
    'remove_tags',
    'DELETE FROM tags WHERE project = :project',
    'DELETE FROM tags WHERE project = %(project)s',
    None,
)


def remove_tags(tx: Tx, /, *, project: str) -> int:
    """Delete the tags of a project's tasks."""
    return tx.write(REMOVE_TAGS, {'project': project})


REMOVE_EDGES = Query(
    'remove_edges',
    'DELETE FROM edges WHERE project = :project',
    'DELETE FROM edges WHERE project = %(project)s',
    None,
)


def remove_edges(tx: Tx, /, *, project: str) -> int:
    """Delete the dependencies between a project's tasks."""
    return tx.write(REMOVE_EDGES, {'project': project})


REMOVE_VERDICTS = Query(
    'remove_verdicts',
    'DELETE FROM verdicts WHERE project = :project',
    'DELETE FROM verdicts WHERE project = %(project)s',
    None,
)


def remove_verdicts(tx: Tx, /, *, project: str) -> int:
    """Delete the verdicts on a project's tasks."""
    return tx.write(REMOVE_VERDICTS, {'project': project})


REMOVE_TASKS = Query(
    'remove_tasks',
    'DELETE FROM tasks WHERE project = :project',
    'DELETE FROM tasks WHERE project = %(project)s',
    None,
)


def remove_tasks(tx: Tx, /, *, project: str) -> int:
    """Delete the tasks of a project."""
    return tx.write(REMOVE_TASKS, {'project': project})


REMOVE_SEAT = Query(
    'remove_seat',
    'DELETE FROM seats WHERE project = :project',
    'DELETE FROM seats WHERE project = %(project)s',
    None,
)


def remove_seat(tx: Tx, /, *, project: str) -> int:
    """Delete the seat of a project."""
    return tx.write(REMOVE_SEAT, {'project': project})


REMOVE_PROJECT = Query(
    'remove_project',
    'DELETE FROM projects WHERE name = :project',
    'DELETE FROM projects WHERE name = %(project)s',
    None,
)


def remove_project(tx: Tx, /, *, project: str) -> int:
    """Delete a project."""
    return tx.write(REMOVE_PROJECT, {'project': project})


REMOVE_SPAWN_FAILURES = Query(
    'remove_spawn_failures',
    'DELETE FROM spawn_failures WHERE project = :project',
    'DELETE FROM spawn_failures WHERE project = %(project)s',
    None,
)


def remove_spawn_failures(tx: Tx, /, *, project: str) -> int:
    """Delete the recorded failed starts of a project."""
    return tx.write(REMOVE_SPAWN_FAILURES, {'project': project})


DISPATCH_COUNTS = Query(
    'dispatch_counts',
    "SELECT project, SUM(CASE WHEN exec_state IN ('pending', 'in_flight') THEN 1 ELSE 0 END) AS active, SUM(CASE WHEN recl_state IN ('partial', 'blocked') THEN 1 ELSE 0 END) AS blocked FROM dispatches GROUP BY project",
    "SELECT project, SUM(CASE WHEN exec_state IN ('pending', 'in_flight') THEN 1 ELSE 0 END) AS active, SUM(CASE WHEN recl_state IN ('partial', 'blocked') THEN 1 ELSE 0 END) AS blocked FROM dispatches GROUP BY project",
    DispatchCount,
)


def dispatch_counts(rows: Rows, /) -> list[DispatchCount]:
    """For each project: how many dispatches are unfinished, and how many have a claim that could not be released."""
    return rows.select_all(DISPATCH_COUNTS, DispatchCount, {})


RECLAIM_TROUBLE = Query(
    'reclaim_trouble',
    "SELECT c.kind, COUNT(*) AS n FROM claims c LEFT JOIN dispatches d ON d.id = c.dispatch LEFT JOIN tasks t ON c.dispatch IS NULL AND t.project = c.project AND t.slug = c.slug WHERE c.state <> 'released' AND (d.recl_state IN ('partial', 'blocked') OR t.archived = 1) AND c.kind <> 'worker_dir' GROUP BY c.kind ORDER BY c.kind",
    "SELECT c.kind, COUNT(*) AS n FROM claims c LEFT JOIN dispatches d ON d.id = c.dispatch LEFT JOIN tasks t ON c.dispatch IS NULL AND t.project = c.project AND t.slug = c.slug WHERE c.state <> 'released' AND (d.recl_state IN ('partial', 'blocked') OR t.archived = 1) AND c.kind <> 'worker_dir' GROUP BY c.kind ORDER BY c.kind",
    ReclaimTrouble,
)


def reclaim_trouble(rows: Rows, /) -> list[ReclaimTrouble]:
    """Unreleased claims that nobody needs any more, counted by kind; worker directories are not counted."""
    return rows.select_all(RECLAIM_TROUBLE, ReclaimTrouble, {})
