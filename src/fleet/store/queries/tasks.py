"""The queries of sql/tasks.sql, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.queries.shared import Existence
from fleet.store.row import Query, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import TaskStatus
    from fleet.store.transaction import Rows, Tx


class Slug(Row):
    __slots__ = (
        'slug',
    )

    def __init__(
        self,
        slug: str,
    ) -> None:
        self.slug = slug


class Miscount(Row):
    __slots__ = (
        'project',
        'slug',
        'kept',
        'counted',
    )

    def __init__(
        self,
        project: str,
        slug: str,
        kept: int,
        counted: int,
    ) -> None:
        self.project = project
        self.slug = slug
        self.kept = kept
        self.counted = counted


class LongEndedTask(Row):
    __slots__ = (
        'slug',
        'status',
        'ended_at',
    )

    def __init__(
        self,
        slug: str,
        status: TaskStatus,
        ended_at: int,
    ) -> None:
        self.slug = slug
        self.status = status
        self.ended_at = ended_at


class LogEntry(Row):
    __slots__ = (
        'at',
        'actor',
        'message',
    )

    def __init__(
        self,
        at: int,
        actor: str,
        message: str,
    ) -> None:
        self.at = at
        self.actor = actor
        self.message = message


class Artifact(Row):
    __slots__ = (
        'path',
        'at',
        'actor',
    )

    def __init__(
        self,
        path: str,
        at: int,
        actor: str,
    ) -> None:
        self.path = path
        self.at = at
        self.actor = actor


class Tag(Row):
    __slots__ = (
        'tag',
    )

    def __init__(
        self,
        tag: str,
    ) -> None:
        self.tag = tag


class Need(Row):
    __slots__ = (
        'slug',
        'title',
        'status',
        'assignee',
        'reason',
        'paused',
        'not_before',
        'open_blockers',
    )

    def __init__(
        self,
        slug: str,
        title: str,
        status: TaskStatus,
        assignee: str | None,
        reason: str | None,
        paused: int,
        not_before: int | None,
        open_blockers: int,
    ) -> None:
        self.slug = slug
        self.title = title
        self.status = status
        self.assignee = assignee
        self.reason = reason
        self.paused = paused
        self.not_before = not_before
        self.open_blockers = open_blockers


ADD_TASK = Query(
    'add_task',
    'INSERT INTO tasks (project, slug, title, description, status, priority, paused, archived, not_before, verify, engine, model, assignee, attempts, reason, open_blockers, added_at, changed_at, started_at, ended_at) VALUES (:project, :slug, :title, :description, :status, :priority, :paused, :archived, :not_before, :verify, :engine, :model, :assignee, :attempts, :reason, :open_blockers, :added_at, :changed_at, :started_at, :ended_at) ON CONFLICT DO NOTHING',
    'INSERT INTO tasks (project, slug, title, description, status, priority, paused, archived, not_before, verify, engine, model, assignee, attempts, reason, open_blockers, added_at, changed_at, started_at, ended_at) VALUES (%(project)s, %(slug)s, %(title)s, %(description)s, %(status)s, %(priority)s, %(paused)s, %(archived)s, %(not_before)s, %(verify)s, %(engine)s, %(model)s, %(assignee)s, %(attempts)s, %(reason)s, %(open_blockers)s, %(added_at)s, %(changed_at)s, %(started_at)s, %(ended_at)s) ON CONFLICT DO NOTHING',
    None,
)


def add_task(tx: Tx, /, *, project: str, slug: str, title: str, description: str, status: TaskStatus, priority: int, paused: int, archived: int, not_before: int | None, verify: str | None, engine: str | None, model: str | None, assignee: str | None, attempts: int, reason: str | None, open_blockers: int, added_at: int, changed_at: int, started_at: int | None, ended_at: int | None) -> int:
    """Add a task. Its count of open blockers is set after its edges are added."""
    return tx.write(ADD_TASK, {'project': project, 'slug': slug, 'title': title, 'description': description, 'status': status, 'priority': priority, 'paused': paused, 'archived': archived, 'not_before': not_before, 'verify': verify, 'engine': engine, 'model': model, 'assignee': assignee, 'attempts': attempts, 'reason': reason, 'open_blockers': open_blockers, 'added_at': added_at, 'changed_at': changed_at, 'started_at': started_at, 'ended_at': ended_at})


TASK_EXISTS = Query(
    'task_exists',
    'SELECT 1 AS yes FROM tasks WHERE project = :project AND slug = :slug',
    'SELECT 1 AS yes FROM tasks WHERE project = %(project)s AND slug = %(slug)s',
    Existence,
)


def task_exists(rows: Rows, /, *, project: str, slug: str) -> Existence | None:
    """Whether a project has a task of this slug."""
    return rows.select_one(TASK_EXISTS, Existence, {'project': project, 'slug': slug})


TASK_CALLED = Query(
    'task_called',
    'SELECT slug FROM tasks WHERE slug = :slug LIMIT 1',
    'SELECT slug FROM tasks WHERE slug = %(slug)s LIMIT 1',
    Slug,
)


def task_called(rows: Rows, /, *, slug: str) -> Slug | None:
    """Whether any project has a task of this slug."""
    return rows.select_one(TASK_CALLED, Slug, {'slug': slug})


CLAIM_TASK_ALL_THE_SAME = Query(
    'claim_task_all_the_same',
    "UPDATE tasks SET status = :after, assignee = :actor, attempts = attempts + 1, reason = NULL, started_at = :at, ended_at = NULL, changed_at = :at WHERE project = :project AND slug = :slug AND status = 'open'",
    "UPDATE tasks SET status = %(after)s, assignee = %(actor)s, attempts = attempts + 1, reason = NULL, started_at = %(at)s, ended_at = NULL, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND status = 'open'",
    None,
)


def claim_task_all_the_same(tx: Tx, /, *, after: TaskStatus, actor: str | None, at: int, project: str, slug: str) -> int:
    """Compare and set: claim an open task, even one that is not ready, for a person."""
    return tx.write(CLAIM_TASK_ALL_THE_SAME, {'after': after, 'actor': actor, 'at': at, 'project': project, 'slug': slug})


REOPEN_TASK = Query(
    'reopen_task',
    "UPDATE tasks SET status = :after, assignee = NULL, started_at = NULL, ended_at = NULL, archived = 0, fixes = 0, merged = NULL, left_uncommitted = NULL, merged_at = NULL, changed_at = :at, pull_request = CASE WHEN merged IS NULL THEN pull_request END, stage = CASE WHEN status IN ('blocked', 'failed') AND :anew = 0 THEN stage ELSE 'worker' END, reason = CASE WHEN status IN ('blocked', 'failed') AND :anew = 0 AND stage IN ('fix', 'rebase') THEN reason END, work = CASE WHEN status IN ('blocked', 'failed') AND :anew = 0 AND EXISTS (SELECT 1 FROM verdicts v WHERE v.project = tasks.project AND v.slug = tasks.slug AND v.verdict = 'accept') THEN work END WHERE project = :project AND slug = :slug AND status = :was",
    "UPDATE tasks SET status = %(after)s, assignee = NULL, started_at = NULL, ended_at = NULL, archived = 0, fixes = 0, merged = NULL, left_uncommitted = NULL, merged_at = NULL, changed_at = %(at)s, pull_request = CASE WHEN merged IS NULL THEN pull_request END, stage = CASE WHEN status IN ('blocked', 'failed') AND %(anew)s = 0 THEN stage ELSE 'worker' END, reason = CASE WHEN status IN ('blocked', 'failed') AND %(anew)s = 0 AND stage IN ('fix', 'rebase') THEN reason END, work = CASE WHEN status IN ('blocked', 'failed') AND %(anew)s = 0 AND EXISTS (SELECT 1 FROM verdicts v WHERE v.project = tasks.project AND v.slug = tasks.slug AND v.verdict = 'accept') THEN work END WHERE project = %(project)s AND slug = %(slug)s AND status = %(was)s",
    None,
)


def reopen_task(tx: Tx, /, *, after: TaskStatus, at: int, anew: int, project: str, slug: str, was: TaskStatus) -> int:
    """Compare and set: open a task again without an assignee, with its count of fixes at 0. A blocked or failed task keeps its stage unless it is opened `anew`; every other task starts at the first stage. The commit of its work is forgotten, unless the task keeps its stage and a review has accepted its work."""
    return tx.write(REOPEN_TASK, {'after': after, 'at': at, 'anew': anew, 'project': project, 'slug': slug, 'was': was})


COUNT_BLOCKERS = Query(
    'count_blockers',
    "UPDATE tasks SET open_blockers = ( SELECT COUNT(*) FROM edges e JOIN tasks n ON n.project = e.project AND n.slug = e.needs WHERE e.project = :project AND e.slug = :slug AND n.status NOT IN ('done', 'abandoned')), changed_at = :at WHERE project = :project AND slug = :slug",
    "UPDATE tasks SET open_blockers = ( SELECT COUNT(*) FROM edges e JOIN tasks n ON n.project = e.project AND n.slug = e.needs WHERE e.project = %(project)s AND e.slug = %(slug)s AND n.status NOT IN ('done', 'abandoned')), changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s",
    None,
)


def count_blockers(tx: Tx, /, *, project: str, slug: str, at: int) -> int:
    """Count a task's open blockers again, after its edges changed."""
    return tx.write(COUNT_BLOCKERS, {'project': project, 'slug': slug, 'at': at})


COUNT_ALL_BLOCKERS = Query(
    'count_all_blockers',
    "UPDATE tasks SET open_blockers = ( SELECT COUNT(*) FROM edges e JOIN tasks n ON n.project = e.project AND n.slug = e.needs WHERE e.project = tasks.project AND e.slug = tasks.slug AND n.status NOT IN ('done', 'abandoned')) WHERE project = :project AND slug IN (SELECT slug FROM edges WHERE project = :project)",
    "UPDATE tasks SET open_blockers = ( SELECT COUNT(*) FROM edges e JOIN tasks n ON n.project = e.project AND n.slug = e.needs WHERE e.project = tasks.project AND e.slug = tasks.slug AND n.status NOT IN ('done', 'abandoned')) WHERE project = %(project)s AND slug IN (SELECT slug FROM edges WHERE project = %(project)s)",
    None,
)


def count_all_blockers(tx: Tx, /, *, project: str) -> int:
    """Count the open blockers of all tasks of a project again, after an import."""
    return tx.write(COUNT_ALL_BLOCKERS, {'project': project})


MISCOUNTED = Query(
    'miscounted',
    "SELECT t.project, t.slug, t.open_blockers AS kept, COUNT(n.slug) AS counted FROM tasks t LEFT JOIN edges e ON e.project = t.project AND e.slug = t.slug LEFT JOIN tasks n ON n.project = e.project AND n.slug = e.needs AND n.status NOT IN ('done', 'abandoned') GROUP BY t.project, t.slug, t.open_blockers HAVING t.open_blockers <> COUNT(n.slug)",
    "SELECT t.project, t.slug, t.open_blockers AS kept, COUNT(n.slug) AS counted FROM tasks t LEFT JOIN edges e ON e.project = t.project AND e.slug = t.slug LEFT JOIN tasks n ON n.project = e.project AND n.slug = e.needs AND n.status NOT IN ('done', 'abandoned') GROUP BY t.project, t.slug, t.open_blockers HAVING t.open_blockers <> COUNT(n.slug)",
    Miscount,
)


def miscounted(rows: Rows, /) -> list[Miscount]:
    """Tasks whose stored count of open blockers differs from their edges. There should be none."""
    return rows.select_all(MISCOUNTED, Miscount, {})


EDIT_TASK = Query(
    'edit_task',
    'UPDATE tasks SET title = :title, description = :description, priority = :priority, not_before = :not_before, verify = :verify, engine = :engine, model = :model, changed_at = :at WHERE project = :project AND slug = :slug',
    'UPDATE tasks SET title = %(title)s, description = %(description)s, priority = %(priority)s, not_before = %(not_before)s, verify = %(verify)s, engine = %(engine)s, model = %(model)s, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s',
    None,
)


def edit_task(tx: Tx, /, *, title: str, description: str, priority: int, not_before: int | None, verify: str | None, engine: str | None, model: str | None, at: int, project: str, slug: str) -> int:
    """Set the fields of a task that a person may change."""
    return tx.write(EDIT_TASK, {'title': title, 'description': description, 'priority': priority, 'not_before': not_before, 'verify': verify, 'engine': engine, 'model': model, 'at': at, 'project': project, 'slug': slug})


PAUSE_TASK = Query(
    'pause_task',
    'UPDATE tasks SET paused = :paused, changed_at = :at WHERE project = :project AND slug = :slug AND paused <> :paused',
    'UPDATE tasks SET paused = %(paused)s, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND paused <> %(paused)s',
    None,
)


def pause_task(tx: Tx, /, *, paused: int, at: int, project: str, slug: str) -> int:
    """Pause or unpause a task."""
    return tx.write(PAUSE_TASK, {'paused': paused, 'at': at, 'project': project, 'slug': slug})


ARCHIVE_TASK = Query(
    'archive_task',
    "UPDATE tasks SET archived = 1, changed_at = :at WHERE project = :project AND slug = :slug AND archived = 0 AND status IN ('done', 'failed', 'abandoned')",
    "UPDATE tasks SET archived = 1, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND archived = 0 AND status IN ('done', 'failed', 'abandoned')",
    None,
)


def archive_task(tx: Tx, /, *, at: int, project: str, slug: str) -> int:
    """Archive an ended task: lists no longer show it."""
    return tx.write(ARCHIVE_TASK, {'at': at, 'project': project, 'slug': slug})


ARCHIVE_ENDED_TASKS = Query(
    'archive_ended_tasks',
    "UPDATE tasks SET archived = 1, changed_at = :at WHERE project = :project AND archived = 0 AND job IS NULL AND status IN ('done', 'failed', 'abandoned') AND ended_at <= :before",
    "UPDATE tasks SET archived = 1, changed_at = %(at)s WHERE project = %(project)s AND archived = 0 AND job IS NULL AND status IN ('done', 'failed', 'abandoned') AND ended_at <= %(before)s",
    None,
)


def archive_ended_tasks(tx: Tx, /, *, at: int, project: str, before: int) -> int:
    """Archive all tasks of a project that ended before a time."""
    return tx.write(ARCHIVE_ENDED_TASKS, {'at': at, 'project': project, 'before': before})


LONG_ENDED_TASKS = Query(
    'long_ended_tasks',
    "SELECT slug, status, ended_at FROM tasks WHERE project = :project AND archived = 0 AND job IS NULL AND status IN ('failed', 'abandoned') AND ended_at <= :before ORDER BY ended_at, slug",
    "SELECT slug, status, ended_at FROM tasks WHERE project = %(project)s AND archived = 0 AND job IS NULL AND status IN ('failed', 'abandoned') AND ended_at <= %(before)s ORDER BY ended_at, slug",
    LongEndedTask,
)


def long_ended_tasks(rows: Rows, /, *, project: str, before: int) -> list[LongEndedTask]:
    """Tasks that failed or were abandoned before a time and are not archived. Done tasks wait for their merge."""
    return rows.select_all(LONG_ENDED_TASKS, LongEndedTask, {'project': project, 'before': before})


ARCHIVE_LONG_ENDED_TASK = Query(
    'archive_long_ended_task',
    "UPDATE tasks SET archived = 1, changed_at = :at WHERE project = :project AND slug = :slug AND archived = 0 AND job IS NULL AND status IN ('failed', 'abandoned') AND ended_at <= :before",
    "UPDATE tasks SET archived = 1, changed_at = %(at)s WHERE project = %(project)s AND slug = %(slug)s AND archived = 0 AND job IS NULL AND status IN ('failed', 'abandoned') AND ended_at <= %(before)s",
    None,
)


def archive_long_ended_task(tx: Tx, /, *, at: int, project: str, slug: str, before: int) -> int:
    """Compare and set: archive a failed or abandoned task, unless it was opened again meanwhile or is an item of a job."""
    return tx.write(ARCHIVE_LONG_ENDED_TASK, {'at': at, 'project': project, 'slug': slug, 'before': before})


TASK_LOG = Query(
    'task_log',
    'SELECT at, actor, message FROM task_log WHERE project = :project AND slug = :slug ORDER BY seq',
    'SELECT at, actor, message FROM task_log WHERE project = %(project)s AND slug = %(slug)s ORDER BY seq',
    LogEntry,
)


def task_log(rows: Rows, /, *, project: str, slug: str) -> list[LogEntry]:
    """The log of a task, oldest first."""
    return rows.select_all(TASK_LOG, LogEntry, {'project': project, 'slug': slug})


TASK_ARTIFACTS = Query(
    'task_artifacts',
    'SELECT path, at, actor FROM artifacts WHERE project = :project AND slug = :slug ORDER BY path',
    'SELECT path, at, actor FROM artifacts WHERE project = %(project)s AND slug = %(slug)s ORDER BY path',
    Artifact,
)


def task_artifacts(rows: Rows, /, *, project: str, slug: str) -> list[Artifact]:
    """The artifacts of a task."""
    return rows.select_all(TASK_ARTIFACTS, Artifact, {'project': project, 'slug': slug})


ADD_TAG = Query(
    'add_tag',
    'INSERT INTO tags (project, slug, tag) VALUES (:project, :slug, :tag) ON CONFLICT DO NOTHING',
    'INSERT INTO tags (project, slug, tag) VALUES (%(project)s, %(slug)s, %(tag)s) ON CONFLICT DO NOTHING',
    None,
)


def add_tag(tx: Tx, /, *, project: str, slug: str, tag: str) -> int:
    """Add a tag to a task."""
    return tx.write(ADD_TAG, {'project': project, 'slug': slug, 'tag': tag})


DROP_TAG = Query(
    'drop_tag',
    'DELETE FROM tags WHERE project = :project AND slug = :slug AND tag = :tag',
    'DELETE FROM tags WHERE project = %(project)s AND slug = %(slug)s AND tag = %(tag)s',
    None,
)


def drop_tag(tx: Tx, /, *, project: str, slug: str, tag: str) -> int:
    """Remove a tag from a task."""
    return tx.write(DROP_TAG, {'project': project, 'slug': slug, 'tag': tag})


TASK_TAGS = Query(
    'task_tags',
    'SELECT tag FROM tags WHERE project = :project AND slug = :slug ORDER BY tag',
    'SELECT tag FROM tags WHERE project = %(project)s AND slug = %(slug)s ORDER BY tag',
    Tag,
)


def task_tags(rows: Rows, /, *, project: str, slug: str) -> list[Tag]:
    """The tags of a task."""
    return rows.select_all(TASK_TAGS, Tag, {'project': project, 'slug': slug})


ADD_EDGE = Query(
    'add_edge',
    'INSERT INTO edges (project, slug, needs) VALUES (:project, :slug, :needs) ON CONFLICT DO NOTHING',
    'INSERT INTO edges (project, slug, needs) VALUES (%(project)s, %(slug)s, %(needs)s) ON CONFLICT DO NOTHING',
    None,
)


def add_edge(tx: Tx, /, *, project: str, slug: str, needs: str) -> int:
    """Add a dependency: the task `slug` waits for the task `needs`."""
    return tx.write(ADD_EDGE, {'project': project, 'slug': slug, 'needs': needs})


DROP_EDGE = Query(
    'drop_edge',
    'DELETE FROM edges WHERE project = :project AND slug = :slug AND needs = :needs',
    'DELETE FROM edges WHERE project = %(project)s AND slug = %(slug)s AND needs = %(needs)s',
    None,
)


def drop_edge(tx: Tx, /, *, project: str, slug: str, needs: str) -> int:
    """Remove a dependency."""
    return tx.write(DROP_EDGE, {'project': project, 'slug': slug, 'needs': needs})


TASK_NEEDS = Query(
    'task_needs',
    'SELECT e.needs AS slug, n.title, n.status, n.assignee, n.reason, n.paused, n.not_before, n.open_blockers FROM edges e JOIN tasks n ON n.project = e.project AND n.slug = e.needs WHERE e.project = :project AND e.slug = :slug ORDER BY e.needs',
    'SELECT e.needs AS slug, n.title, n.status, n.assignee, n.reason, n.paused, n.not_before, n.open_blockers FROM edges e JOIN tasks n ON n.project = e.project AND n.slug = e.needs WHERE e.project = %(project)s AND e.slug = %(slug)s ORDER BY e.needs',
    Need,
)


def task_needs(rows: Rows, /, *, project: str, slug: str) -> list[Need]:
    """The tasks that a task waits for, with their state."""
    return rows.select_all(TASK_NEEDS, Need, {'project': project, 'slug': slug})


TASK_DEPENDENTS = Query(
    'task_dependents',
    'SELECT slug FROM edges WHERE project = :project AND needs = :slug ORDER BY slug',
    'SELECT slug FROM edges WHERE project = %(project)s AND needs = %(slug)s ORDER BY slug',
    Slug,
)


def task_dependents(rows: Rows, /, *, project: str, slug: str) -> list[Slug]:
    """The tasks that wait for a task."""
    return rows.select_all(TASK_DEPENDENTS, Slug, {'project': project, 'slug': slug})
