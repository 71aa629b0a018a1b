"""The queries of sql/trash.sql, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.queries.shared import Count
from fleet.store.row import Query, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.transaction import Rows, Tx


class KeptTrash(Row):
    __slots__ = (
        'id',
        'project',
        'slug',
        'claim',
        'home',
        'name',
        'path',
        'why',
        'files',
        'bytes',
        'at',
        'moved_at',
        'until',
        'gone_at',
        'held',
    )

    def __init__(
        self,
        id: str,
        project: str,
        slug: str,
        claim: str,
        home: str | None,
        name: str,
        path: str,
        why: str,
        files: int,
        bytes: int,
        at: int,
        moved_at: int | None,
        until: int,
        gone_at: int | None,
        held: int,
    ) -> None:
        self.id = id
        self.project = project
        self.slug = slug
        self.claim = claim
        self.home = home
        self.name = name
        self.path = path
        self.why = why
        self.files = files
        self.bytes = bytes
        self.at = at
        self.moved_at = moved_at
        self.until = until
        self.gone_at = gone_at
        self.held = held


class Trash(Row):
    __slots__ = (
        'id',
        'project',
        'slug',
        'claim',
        'home',
        'name',
        'path',
        'why',
        'files',
        'bytes',
        'at',
        'moved_at',
        'until',
        'gone_at',
    )

    def __init__(
        self,
        id: str,
        project: str,
        slug: str,
        claim: str,
        home: str | None,
        name: str,
        path: str,
        why: str,
        files: int,
        bytes: int,
        at: int,
        moved_at: int | None,
        until: int,
        gone_at: int | None,
    ) -> None:
        self.id = id
        self.project = project
        self.slug = slug
        self.claim = claim
        self.home = home
        self.name = name
        self.path = path
        self.why = why
        self.files = files
        self.bytes = bytes
        self.at = at
        self.moved_at = moved_at
        self.until = until
        self.gone_at = gone_at


ADD_TRASH = Query(
    'add_trash',
    'INSERT INTO trash (id, project, slug, claim, home, name, path, why, files, bytes, at, until) VALUES (:id, :project, :slug, :claim, :home, :name, :path, :why, :files, :bytes, :at, :until) ON CONFLICT DO NOTHING',
    'INSERT INTO trash (id, project, slug, claim, home, name, path, why, files, bytes, at, until) VALUES (%(id)s, %(project)s, %(slug)s, %(claim)s, %(home)s, %(name)s, %(path)s, %(why)s, %(files)s, %(bytes)s, %(at)s, %(until)s) ON CONFLICT DO NOTHING',
    None,
)


def add_trash(tx: Tx, /, *, id: str, project: str, slug: str, claim: str, home: str | None, name: str, path: str, why: str, files: int, bytes: int, at: int, until: int) -> int:
    """Record the intent to move ignored files of a worktree into the trash."""
    return tx.write(ADD_TRASH, {'id': id, 'project': project, 'slug': slug, 'claim': claim, 'home': home, 'name': name, 'path': path, 'why': why, 'files': files, 'bytes': bytes, 'at': at, 'until': until})


NOTE_TRASH_MOVED = Query(
    'note_trash_moved',
    'UPDATE trash SET moved_at = :at, files = :files, bytes = :bytes WHERE id = :id AND moved_at IS NULL AND gone_at IS NULL',
    'UPDATE trash SET moved_at = %(at)s, files = %(files)s, bytes = %(bytes)s WHERE id = %(id)s AND moved_at IS NULL AND gone_at IS NULL',
    None,
)


def note_trash_moved(tx: Tx, /, *, at: int | None, files: int, bytes: int, id: str) -> int:
    """Record that all files are in the trash, and their number and size as found there."""
    return tx.write(NOTE_TRASH_MOVED, {'at': at, 'files': files, 'bytes': bytes, 'id': id})


COUNT_TRASH = Query(
    'count_trash',
    'UPDATE trash SET files = :files, bytes = :bytes WHERE id = :id AND gone_at IS NULL',
    'UPDATE trash SET files = %(files)s, bytes = %(bytes)s WHERE id = %(id)s AND gone_at IS NULL',
    None,
)


def count_trash(tx: Tx, /, *, files: int, bytes: int, id: str) -> int:
    """Record how many files are left in the trash after some were moved back."""
    return tx.write(COUNT_TRASH, {'files': files, 'bytes': bytes, 'id': id})


END_TRASH = Query(
    'end_trash',
    'UPDATE trash SET gone_at = :at WHERE id = :id AND gone_at IS NULL',
    'UPDATE trash SET gone_at = %(at)s WHERE id = %(id)s AND gone_at IS NULL',
    None,
)


def end_trash(tx: Tx, /, *, at: int | None, id: str) -> int:
    """Record that an entry of the trash was deleted or moved back."""
    return tx.write(END_TRASH, {'at': at, 'id': id})


KEPT_TRASH = Query(
    'kept_trash',
    "SELECT t.*, CASE WHEN EXISTS (SELECT 1 FROM claims c WHERE c.id = t.claim AND c.state <> 'released') THEN 1 ELSE 0 END AS held FROM trash t WHERE t.home = :home AND t.gone_at IS NULL ORDER BY t.until, t.id",
    "SELECT t.*, CASE WHEN EXISTS (SELECT 1 FROM claims c WHERE c.id = t.claim AND c.state <> 'released') THEN 1 ELSE 0 END AS held FROM trash t WHERE t.home = %(home)s AND t.gone_at IS NULL ORDER BY t.until, t.id",
    KeptTrash,
)


def kept_trash(rows: Rows, /, *, home: str) -> list[KeptTrash]:
    """The entries of a home's trash that are not deleted, the first to expire first; `held`: the worktree's claim is not released."""
    return rows.select_all(KEPT_TRASH, KeptTrash, {'home': home})


TRASH_OF_CLAIM = Query(
    'trash_of_claim',
    'SELECT * FROM trash WHERE claim = :claim AND home = :home AND gone_at IS NULL ORDER BY at, id',
    'SELECT * FROM trash WHERE claim = %(claim)s AND home = %(home)s AND gone_at IS NULL ORDER BY at, id',
    Trash,
)


def trash_of_claim(rows: Rows, /, *, claim: str, home: str) -> list[Trash]:
    """The entries of the trash that came from one worktree."""
    return rows.select_all(TRASH_OF_CLAIM, Trash, {'claim': claim, 'home': home})


TRASH_OF_TASK = Query(
    'trash_of_task',
    'SELECT * FROM trash WHERE project = :project AND slug = :slug AND home = :home AND gone_at IS NULL ORDER BY at, id',
    'SELECT * FROM trash WHERE project = %(project)s AND slug = %(slug)s AND home = %(home)s AND gone_at IS NULL ORDER BY at, id',
    Trash,
)


def trash_of_task(rows: Rows, /, *, project: str, slug: str, home: str) -> list[Trash]:
    """The entries of the trash that came from a task's worktrees."""
    return rows.select_all(TRASH_OF_TASK, Trash, {'project': project, 'slug': slug, 'home': home})


TRASH_SIZE = Query(
    'trash_size',
    'SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS n FROM trash WHERE home = :home AND gone_at IS NULL',
    'SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS n FROM trash WHERE home = %(home)s AND gone_at IS NULL',
    Count,
)


def trash_size(rows: Rows, /, *, home: str) -> Count:
    """How many bytes are in the trash of a home."""
    return rows.select_exactly_one(TRASH_SIZE, Count, {'home': home})
