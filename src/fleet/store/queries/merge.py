"""The queries of sql/merge.sql, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.queries.shared import Existence
from fleet.store.row import Query, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.transaction import Rows, Tx


class Merge(Row):
    __slots__ = (
        'seq',
        'project',
        'slug',
        'integration',
        'made',
        'work',
        'base',
        'at',
        'acknowledged_at',
        'acknowledged_by',
        'reason',
    )

    def __init__(
        self,
        seq: int,
        project: str,
        slug: str,
        integration: str,
        made: str,
        work: str,
        base: str,
        at: int,
        acknowledged_at: int | None,
        acknowledged_by: str | None,
        reason: str | None,
    ) -> None:
        self.seq = seq
        self.project = project
        self.slug = slug
        self.integration = integration
        self.made = made
        self.work = work
        self.base = base
        self.at = at
        self.acknowledged_at = acknowledged_at
        self.acknowledged_by = acknowledged_by
        self.reason = reason


ADD_MERGE = Query(
    'add_merge',
    'INSERT INTO merges (seq, project, slug, integration, made, work, base, at) VALUES (:seq, :project, :slug, :integration, :made, :work, :base, :at) ON CONFLICT DO NOTHING',
    'INSERT INTO merges (seq, project, slug, integration, made, work, base, at) VALUES (%(seq)s, %(project)s, %(slug)s, %(integration)s, %(made)s, %(work)s, %(base)s, %(at)s) ON CONFLICT DO NOTHING',
    None,
)


def add_merge(tx: Tx, /, *, seq: int, project: str, slug: str, integration: str, made: str, work: str, base: str, at: int) -> int:
    """Record that a task's work was merged into the integration branch."""
    return tx.write(ADD_MERGE, {'seq': seq, 'project': project, 'slug': slug, 'integration': integration, 'made': made, 'work': work, 'base': base, 'at': at})


RECORDED_MERGES = Query(
    'recorded_merges',
    'SELECT * FROM merges WHERE project = :project AND integration = :integration AND acknowledged_at IS NULL ORDER BY seq DESC',
    'SELECT * FROM merges WHERE project = %(project)s AND integration = %(integration)s AND acknowledged_at IS NULL ORDER BY seq DESC',
    Merge,
)


def recorded_merges(rows: Rows, /, *, project: str, integration: str) -> list[Merge]:
    """Merges into an integration branch, without those that a person acknowledged as missing, newest first."""
    return rows.select_all(RECORDED_MERGES, Merge, {'project': project, 'integration': integration})


ALL_MERGES = Query(
    'all_merges',
    'SELECT * FROM merges WHERE project = :project AND integration = :integration ORDER BY seq DESC',
    'SELECT * FROM merges WHERE project = %(project)s AND integration = %(integration)s ORDER BY seq DESC',
    Merge,
)


def all_merges(rows: Rows, /, *, project: str, integration: str) -> list[Merge]:
    """All recorded merges into an integration branch, newest first."""
    return rows.select_all(ALL_MERGES, Merge, {'project': project, 'integration': integration})


NEWEST_MERGE = Query(
    'newest_merge',
    'SELECT * FROM merges WHERE project = :project AND integration = :integration AND acknowledged_at IS NULL ORDER BY seq DESC LIMIT 1',
    'SELECT * FROM merges WHERE project = %(project)s AND integration = %(integration)s AND acknowledged_at IS NULL ORDER BY seq DESC LIMIT 1',
    Merge,
)


def newest_merge(rows: Rows, /, *, project: str, integration: str) -> Merge | None:
    """The newest recorded merge that no person has acknowledged as missing."""
    return rows.select_one(NEWEST_MERGE, Merge, {'project': project, 'integration': integration})


ACKNOWLEDGE_MERGE = Query(
    'acknowledge_merge',
    'UPDATE merges SET acknowledged_at = :at, acknowledged_by = :by, reason = :reason WHERE seq = :seq AND acknowledged_at IS NULL',
    'UPDATE merges SET acknowledged_at = %(at)s, acknowledged_by = %(by)s, reason = %(reason)s WHERE seq = %(seq)s AND acknowledged_at IS NULL',
    None,
)


def acknowledge_merge(tx: Tx, /, *, at: int | None, by: str | None, reason: str | None, seq: int) -> int:
    """Compare and set: record that a person knows that a merge is missing from the branch, and why."""
    return tx.write(ACKNOWLEDGE_MERGE, {'at': at, 'by': by, 'reason': reason, 'seq': seq})


REMOVE_MERGES = Query(
    'remove_merges',
    'DELETE FROM merges WHERE project = :project',
    'DELETE FROM merges WHERE project = %(project)s',
    None,
)


def remove_merges(tx: Tx, /, *, project: str) -> int:
    """Delete the recorded merges of a project that is removed. Its integration branch stays."""
    return tx.write(REMOVE_MERGES, {'project': project})


KNOWN_WORK = Query(
    'known_work',
    'SELECT 1 AS yes FROM tasks WHERE project = :project AND slug = :slug AND work = :work UNION ALL SELECT 1 AS yes FROM verdicts WHERE project = :project AND slug = :slug AND work = :work UNION ALL SELECT 1 AS yes FROM dispatches WHERE project = :project AND slug = :slug AND (reported_commit = :work OR settled_commit = :work) LIMIT 1',
    'SELECT 1 AS yes FROM tasks WHERE project = %(project)s AND slug = %(slug)s AND work = %(work)s UNION ALL SELECT 1 AS yes FROM verdicts WHERE project = %(project)s AND slug = %(slug)s AND work = %(work)s UNION ALL SELECT 1 AS yes FROM dispatches WHERE project = %(project)s AND slug = %(slug)s AND (reported_commit = %(work)s OR settled_commit = %(work)s) LIMIT 1',
    Existence,
)


def known_work(rows: Rows, /, *, project: str, slug: str, work: str) -> Existence | None:
    """Whether a commit was reported, settled or reviewed as the work of a task."""
    return rows.select_one(KNOWN_WORK, Existence, {'project': project, 'slug': slug, 'work': work})
