"""Import tasks from a file of JSON Lines: all of them or none."""

from __future__ import annotations

from hashlib import blake2s
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import names
from fleet.model.results.tasks import Imported
from fleet.model.tasks import interchange
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.tasks.show import check_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fleet.model.tasks.interchange import Reading, TaskToImport
    from fleet.store.transaction import Tx

    Progress = Callable[[int], None]

# How many tasks are written at once.
BATCH = 2_000
# The columns of a task that an import takes over as they are.
_COPIED = [
    "slug",
    "title",
    "description",
    "status",
    "priority",
    "not_before",
    "verify",
    "engine",
    "model",
    "assignee",
    "attempts",
    "reason",
]


def ingest(
    *, project: str, lines: Iterable[bytes], name: str, progress: Progress = lambda _n: None
) -> Change[Imported]:
    """Return the change that adds all tasks of a file of JSON Lines, given as its `lines`.

    `name` is the file's name, for the operation log; `progress` is called with the number of tasks written so far.
    Committing it raises NoSuchProject, and ImportRefused, with every finding, if any line is wrong.
    """
    names.project(project)
    content = blake2s()
    reading = interchange.read_lines(_digest_lines(lines, content))

    def work(tx: Tx) -> Imported:
        tx.about(project)
        check_project(tx, project)
        existing = {row.slug for row in q.slugs_like(tx, project=project, prefix="", beyond="~", most=1 << 60)}
        interchange.check_graph(reading, existing | _archived_slugs(tx, project))
        if reading.findings:
            findings = interchange.sorted_findings(reading.findings)
            raise errors.ImportRefused(told=interchange.findings_text(findings), findings=findings)
        _insert_nodes(tx, project, reading, progress)
        edges = sum(len(node.after) for node in reading.nodes)
        tx.note(tasks=len(reading.nodes), edges=edges, file=name)
        return Imported(project=project, tasks=len(reading.nodes), edges=edges, left_out=reading.left_out)

    return Change(f"import {name} into {project}", work, content.hexdigest(), returns=Imported)


def _digest_lines(lines: Iterable[bytes], content: blake2s) -> Iterator[bytes]:
    """Yield the lines of an import, and add each to the digest `content`.

    The digest is part of the request, so that a repeated request is known to import the same file.
    """
    for line in lines:
        content.update(line)
        yield line


def _archived_slugs(tx: Tx, project: str) -> set[str]:
    """Return the slugs of the project's archived tasks."""
    rows = q.listed_tasks(
        tx,
        project=project,
        after_slug="",
        archived=1,
        most=1 << 60,
        status=None,
        assignee=None,
        text=None,
        tag=None,
    )
    return {row.slug for row in rows if row.archived}


def _insert_nodes(tx: Tx, project: str, reading: Reading, progress: Progress) -> None:
    """Insert the tasks in batches, then their dependencies, then count the open blockers."""
    written = 0
    for batch in _batches_of_nodes(reading.nodes):
        tx.many(q.ADD_TASK, [_task_row(project, node, tx.at) for node in batch])
        tx.many(q.ADD_TAG, [{"project": project, "slug": n.slug, "tag": tag} for n in batch for tag in n.tags])
        tx.many(q.ADD_LOG, [each for node in batch for each in _log_rows(project, node, tx)])
        tx.many(q.ADD_ARTIFACT, [each for node in batch for each in _artifact_rows(project, node, tx)])
        written += len(batch)
        progress(written)
    for batch in _batches_of_nodes(reading.nodes):
        tx.many(q.ADD_EDGE, [{"project": project, "slug": n.slug, "needs": each} for n in batch for each in n.after])
    q.count_all_blockers(tx, project=project)


def _batches_of_nodes(nodes: list[TaskToImport]) -> Iterator[list[TaskToImport]]:
    """Yield the nodes in batches of 2000."""
    for start in range(0, len(nodes), BATCH):
        yield nodes[start : start + BATCH]


def _task_row(project: str, node: TaskToImport, now: int) -> dict[str, object]:
    """Return the parameters of the query that inserts a node as a task."""
    row: dict[str, object] = {name: getattr(node, name) for name in _COPIED}
    ended = node.status in {"done", "failed", "abandoned"}
    return row | {
        "project": project,
        "paused": int(node.paused),
        "archived": int(node.archived),
        "open_blockers": 0,
        "added_at": _time_or(node.added_at, now),
        "changed_at": _time_or(node.changed_at, now),
        "started_at": _time_or(node.started_at, now if node.status == "in_progress" else None),
        "ended_at": _time_or(node.ended_at, now if ended else None),
    }


def _time_or(at: int | None, otherwise: int | None) -> int | None:
    """Return the time `at`, or `otherwise` when `at` is None because the imported file gives no time."""
    return otherwise if at is None else at


def _log_rows(project: str, node: TaskToImport, tx: Tx) -> Iterator[dict[str, object]]:
    """Yield the log messages of an imported task as rows.

    Their sequence numbers end with that of this operation, so that later messages follow them.
    """
    first = tx.seq - len(node.log)
    for number, entry in enumerate(node.log, 1):
        place = {"project": project, "slug": node.slug, "seq": first + number}
        yield {**place, "at": _time_or(entry.at, tx.at), "actor": entry.actor, "message": entry.message}


def _artifact_rows(project: str, node: TaskToImport, tx: Tx) -> Iterator[dict[str, object]]:
    """Yield the artifacts of an imported task as rows."""
    for artifact in node.artifacts:
        place = {"project": project, "slug": node.slug, "path": artifact.path}
        yield {**place, "at": _time_or(artifact.at, tx.at), "actor": artifact.actor}
