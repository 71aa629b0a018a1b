"""The queries of sql/listing.sql, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.row import Query, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import TaskStatus
    from fleet.store.transaction import Rows


class ListedTask(Row):
    __slots__ = (
        'project',
        'slug',
        'title',
        'status',
        'stage',
        'priority',
        'paused',
        'archived',
        'not_before',
        'engine',
        'model',
        'assignee',
        'attempts',
        'reason',
        'open_blockers',
        'added_at',
        'changed_at',
    )

    def __init__(
        self,
        project: str,
        slug: str,
        title: str,
        status: TaskStatus,
        stage: str,
        priority: int,
        paused: int,
        archived: int,
        not_before: int | None,
        engine: str | None,
        model: str | None,
        assignee: str | None,
        attempts: int,
        reason: str | None,
        open_blockers: int,
        added_at: int,
        changed_at: int,
    ) -> None:
        self.project = project
        self.slug = slug
        self.title = title
        self.status = status
        self.stage = stage
        self.priority = priority
        self.paused = paused
        self.archived = archived
        self.not_before = not_before
        self.engine = engine
        self.model = model
        self.assignee = assignee
        self.attempts = attempts
        self.reason = reason
        self.open_blockers = open_blockers
        self.added_at = added_at
        self.changed_at = changed_at


class Edge(Row):
    __slots__ = (
        'slug',
        'needs',
    )

    def __init__(
        self,
        slug: str,
        needs: str,
    ) -> None:
        self.slug = slug
        self.needs = needs


class TaskTag(Row):
    __slots__ = (
        'slug',
        'tag',
    )

    def __init__(
        self,
        slug: str,
        tag: str,
    ) -> None:
        self.slug = slug
        self.tag = tag


class TaskLogEntry(Row):
    __slots__ = (
        'slug',
        'at',
        'actor',
        'message',
    )

    def __init__(
        self,
        slug: str,
        at: int,
        actor: str,
        message: str,
    ) -> None:
        self.slug = slug
        self.at = at
        self.actor = actor
        self.message = message


class TaskArtifact(Row):
    __slots__ = (
        'slug',
        'path',
        'at',
        'actor',
    )

    def __init__(
        self,
        slug: str,
        path: str,
        at: int,
        actor: str,
    ) -> None:
        self.slug = slug
        self.path = path
        self.at = at
        self.actor = actor


class WholeTask(Row):
    __slots__ = (
        'project',
        'slug',
        'title',
        'description',
        'status',
        'stage',
        'priority',
        'paused',
        'archived',
        'not_before',
        'verify',
        'engine',
        'model',
        'assignee',
        'attempts',
        'reason',
        'open_blockers',
        'added_at',
        'changed_at',
        'started_at',
        'ended_at',
        'merged',
    )

    def __init__(
        self,
        project: str,
        slug: str,
        title: str,
        description: str,
        status: TaskStatus,
        stage: str,
        priority: int,
        paused: int,
        archived: int,
        not_before: int | None,
        verify: str | None,
        engine: str | None,
        model: str | None,
        assignee: str | None,
        attempts: int,
        reason: str | None,
        open_blockers: int,
        added_at: int,
        changed_at: int,
        started_at: int | None,
        ended_at: int | None,
        merged: str | None,
    ) -> None:
        self.project = project
        self.slug = slug
        self.title = title
        self.description = description
        self.status = status
        self.stage = stage
        self.priority = priority
        self.paused = paused
        self.archived = archived
        self.not_before = not_before
        self.verify = verify
        self.engine = engine
        self.model = model
        self.assignee = assignee
        self.attempts = attempts
        self.reason = reason
        self.open_blockers = open_blockers
        self.added_at = added_at
        self.changed_at = changed_at
        self.started_at = started_at
        self.ended_at = ended_at
        self.merged = merged


class SlugWithTitle(Row):
    __slots__ = (
        'slug',
        'title',
    )

    def __init__(
        self,
        slug: str,
        title: str,
    ) -> None:
        self.slug = slug
        self.title = title


READY_TASKS = Query(
    'ready_tasks',
    "SELECT project, slug, title, status, stage, priority, paused, archived, not_before, engine, model, assignee, attempts, reason, open_blockers, added_at, changed_at FROM tasks WHERE project = :project AND status = 'open' AND open_blockers = 0 AND paused = 0 AND job IS NULL AND (not_before IS NULL OR not_before <= :now) ORDER BY project, priority DESC, added_at, slug LIMIT :most",
    "SELECT project, slug, title, status, stage, priority, paused, archived, not_before, engine, model, assignee, attempts, reason, open_blockers, added_at, changed_at FROM tasks WHERE project = %(project)s AND status = 'open' AND open_blockers = 0 AND paused = 0 AND job IS NULL AND (not_before IS NULL OR not_before <= %(now)s) ORDER BY project, priority DESC, added_at, slug LIMIT %(most)s",
    ListedTask,
)


def ready_tasks(rows: Rows, /, *, project: str, now: int, most: int) -> list[ListedTask]:
    """Tasks of a project that could be started now: most urgent first, then oldest."""
    return rows.select_all(READY_TASKS, ListedTask, {'project': project, 'now': now, 'most': most})


LISTED_TASKS = Query(
    'listed_tasks',
    "SELECT t.project, t.slug, t.title, t.status, t.stage, t.priority, t.paused, t.archived, t.not_before, t.engine, t.model, t.assignee, t.attempts, t.reason, t.open_blockers, t.added_at, t.changed_at FROM tasks t WHERE t.project = :project AND t.slug > :after_slug AND t.job IS NULL AND (CAST(:status AS TEXT) IS NULL OR t.status = :status) AND (CAST(:assignee AS TEXT) IS NULL OR t.assignee = :assignee) AND (:archived = 1 OR t.archived = 0) AND (CAST(:text AS TEXT) IS NULL OR LOWER(t.title) LIKE :text ESCAPE '!' OR LOWER(t.description) LIKE :text ESCAPE '!' OR t.slug LIKE :text ESCAPE '!') AND (CAST(:tag AS TEXT) IS NULL OR EXISTS ( SELECT 1 FROM tags g WHERE g.project = t.project AND g.slug = t.slug AND g.tag = :tag)) ORDER BY t.slug LIMIT :most",
    "SELECT t.project, t.slug, t.title, t.status, t.stage, t.priority, t.paused, t.archived, t.not_before, t.engine, t.model, t.assignee, t.attempts, t.reason, t.open_blockers, t.added_at, t.changed_at FROM tasks t WHERE t.project = %(project)s AND t.slug > %(after_slug)s AND t.job IS NULL AND (CAST(%(status)s AS TEXT) IS NULL OR t.status = %(status)s) AND (CAST(%(assignee)s AS TEXT) IS NULL OR t.assignee = %(assignee)s) AND (%(archived)s = 1 OR t.archived = 0) AND (CAST(%(text)s AS TEXT) IS NULL OR LOWER(t.title) LIKE %(text)s ESCAPE '!' OR LOWER(t.description) LIKE %(text)s ESCAPE '!' OR t.slug LIKE %(text)s ESCAPE '!') AND (CAST(%(tag)s AS TEXT) IS NULL OR EXISTS ( SELECT 1 FROM tags g WHERE g.project = t.project AND g.slug = t.slug AND g.tag = %(tag)s)) ORDER BY t.slug LIMIT %(most)s",
    ListedTask,
)


def listed_tasks(rows: Rows, /, *, project: str, after_slug: str, status: TaskStatus | None, assignee: str | None, archived: int, text: str | None, tag: str | None, most: int) -> list[ListedTask]:
    """Tasks of a project that match every given filter, by slug, one page at a time."""
    return rows.select_all(LISTED_TASKS, ListedTask, {'project': project, 'after_slug': after_slug, 'status': status, 'assignee': assignee, 'archived': archived, 'text': text, 'tag': tag, 'most': most})


PROJECT_EDGES = Query(
    'project_edges',
    'SELECT slug, needs FROM edges WHERE project = :project ORDER BY slug, needs',
    'SELECT slug, needs FROM edges WHERE project = %(project)s ORDER BY slug, needs',
    Edge,
)


def project_edges(rows: Rows, /, *, project: str) -> list[Edge]:
    """All dependencies of a project."""
    return rows.select_all(PROJECT_EDGES, Edge, {'project': project})


EDGES_FROM = Query(
    'edges_from',
    'SELECT e.slug, e.needs FROM edges e JOIN tasks t ON t.project = e.project AND t.slug = e.needs WHERE e.project = :project AND e.slug > :after_slug AND e.slug <= :until_slug AND t.job IS NULL ORDER BY e.slug, e.needs',
    'SELECT e.slug, e.needs FROM edges e JOIN tasks t ON t.project = e.project AND t.slug = e.needs WHERE e.project = %(project)s AND e.slug > %(after_slug)s AND e.slug <= %(until_slug)s AND t.job IS NULL ORDER BY e.slug, e.needs',
    Edge,
)


def edges_from(rows: Rows, /, *, project: str, after_slug: str, until_slug: str) -> list[Edge]:
    """The dependencies of a page of tasks, without dependencies on the tasks of jobs, which belong to no page."""
    return rows.select_all(EDGES_FROM, Edge, {'project': project, 'after_slug': after_slug, 'until_slug': until_slug})


TAGS_FROM = Query(
    'tags_from',
    'SELECT slug, tag FROM tags WHERE project = :project AND slug > :after_slug AND slug <= :until_slug ORDER BY slug, tag',
    'SELECT slug, tag FROM tags WHERE project = %(project)s AND slug > %(after_slug)s AND slug <= %(until_slug)s ORDER BY slug, tag',
    TaskTag,
)


def tags_from(rows: Rows, /, *, project: str, after_slug: str, until_slug: str) -> list[TaskTag]:
    """The tags of a page of tasks."""
    return rows.select_all(TAGS_FROM, TaskTag, {'project': project, 'after_slug': after_slug, 'until_slug': until_slug})


LOG_FROM = Query(
    'log_from',
    'SELECT slug, at, actor, message FROM task_log WHERE project = :project AND slug > :after_slug AND slug <= :until_slug ORDER BY slug, seq',
    'SELECT slug, at, actor, message FROM task_log WHERE project = %(project)s AND slug > %(after_slug)s AND slug <= %(until_slug)s ORDER BY slug, seq',
    TaskLogEntry,
)


def log_from(rows: Rows, /, *, project: str, after_slug: str, until_slug: str) -> list[TaskLogEntry]:
    """The log entries of a page of tasks."""
    return rows.select_all(LOG_FROM, TaskLogEntry, {'project': project, 'after_slug': after_slug, 'until_slug': until_slug})


ARTIFACTS_FROM = Query(
    'artifacts_from',
    'SELECT slug, path, at, actor FROM artifacts WHERE project = :project AND slug > :after_slug AND slug <= :until_slug ORDER BY slug, path',
    'SELECT slug, path, at, actor FROM artifacts WHERE project = %(project)s AND slug > %(after_slug)s AND slug <= %(until_slug)s ORDER BY slug, path',
    TaskArtifact,
)


def artifacts_from(rows: Rows, /, *, project: str, after_slug: str, until_slug: str) -> list[TaskArtifact]:
    """The artifacts of a page of tasks."""
    return rows.select_all(ARTIFACTS_FROM, TaskArtifact, {'project': project, 'after_slug': after_slug, 'until_slug': until_slug})


PAGE_OF_TASKS = Query(
    'page_of_tasks',
    'SELECT project, slug, title, description, status, stage, priority, paused, archived, not_before, verify, engine, model, assignee, attempts, reason, open_blockers, added_at, changed_at, started_at, ended_at, merged FROM tasks WHERE project = :project AND slug > :after_slug AND job IS NULL AND (:archived = 1 OR archived = 0) ORDER BY slug LIMIT :most',
    'SELECT project, slug, title, description, status, stage, priority, paused, archived, not_before, verify, engine, model, assignee, attempts, reason, open_blockers, added_at, changed_at, started_at, ended_at, merged FROM tasks WHERE project = %(project)s AND slug > %(after_slug)s AND job IS NULL AND (%(archived)s = 1 OR archived = 0) ORDER BY slug LIMIT %(most)s',
    WholeTask,
)


def page_of_tasks(rows: Rows, /, *, project: str, after_slug: str, archived: int, most: int) -> list[WholeTask]:
    """Tasks with their texts and times, by slug, one page at a time."""
    return rows.select_all(PAGE_OF_TASKS, WholeTask, {'project': project, 'after_slug': after_slug, 'archived': archived, 'most': most})


SLUGS_LIKE = Query(
    'slugs_like',
    'SELECT slug, title FROM tasks WHERE project = :project AND slug >= :prefix AND slug < :beyond AND archived = 0 AND job IS NULL ORDER BY slug LIMIT :most',
    'SELECT slug, title FROM tasks WHERE project = %(project)s AND slug >= %(prefix)s AND slug < %(beyond)s AND archived = 0 AND job IS NULL ORDER BY slug LIMIT %(most)s',
    SlugWithTitle,
)


def slugs_like(rows: Rows, /, *, project: str, prefix: str, beyond: str, most: int) -> list[SlugWithTitle]:
    """Slugs that begin with a text, for shell completion."""
    return rows.select_all(SLUGS_LIKE, SlugWithTitle, {'project': project, 'prefix': prefix, 'beyond': beyond, 'most': most})


TASK_WHOLE = Query(
    'task_whole',
    'SELECT project, slug, title, description, status, stage, priority, paused, archived, not_before, verify, engine, model, assignee, attempts, reason, open_blockers, added_at, changed_at, started_at, ended_at, merged FROM tasks WHERE project = :project AND slug = :slug',
    'SELECT project, slug, title, description, status, stage, priority, paused, archived, not_before, verify, engine, model, assignee, attempts, reason, open_blockers, added_at, changed_at, started_at, ended_at, merged FROM tasks WHERE project = %(project)s AND slug = %(slug)s',
    WholeTask,
)


def task_whole(rows: Rows, /, *, project: str, slug: str) -> WholeTask | None:
    """One task with its texts and times."""
    return rows.select_one(TASK_WHOLE, WholeTask, {'project': project, 'slug': slug})


ANCESTORS = Query(
    'ancestors',
    'WITH RECURSIVE above (slug) AS ( SELECT needs FROM edges WHERE project = :project AND slug = :slug UNION SELECT e.needs FROM edges e JOIN above a ON e.slug = a.slug WHERE e.project = :project ) SELECT slug, needs FROM edges WHERE project = :project AND (slug = :slug OR slug IN (SELECT slug FROM above)) ORDER BY slug, needs',
    'WITH RECURSIVE above (slug) AS ( SELECT needs FROM edges WHERE project = %(project)s AND slug = %(slug)s UNION SELECT e.needs FROM edges e JOIN above a ON e.slug = a.slug WHERE e.project = %(project)s ) SELECT slug, needs FROM edges WHERE project = %(project)s AND (slug = %(slug)s OR slug IN (SELECT slug FROM above)) ORDER BY slug, needs',
    Edge,
)


def ancestors(rows: Rows, /, *, project: str, slug: str) -> list[Edge]:
    """The edges of everything that a task depends on, directly or indirectly."""
    return rows.select_all(ANCESTORS, Edge, {'project': project, 'slug': slug})
