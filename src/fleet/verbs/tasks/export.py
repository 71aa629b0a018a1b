"""Export the tasks of a project: as nodes that `ingest` can read, or as a Markdown page."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from fleet.model.results.tasks import Node
from fleet.model.text.times import iso, iso_or_none
from fleet.store import queries as q
from fleet.verbs.tasks.show import PAGE, artifact, check_project, log_entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fleet.store.transaction import Rows, Store

T = TypeVar("T")
# The statuses in the order of the page, each with its mark and its heading.
_SECTIONS = {
    "in_progress": ("[~]", "In progress"),
    "blocked": ("[!]", "Blocked"),
    "failed": ("[!]", "Failed"),
    "open": ("[ ]", "Open"),
    "done": ("[x]", "Done"),
    "abandoned": ("[-]", "Abandoned"),
}


def nodes(store: Store, project: str, *, archived: bool = True) -> list[Node]:
    """Return every task of a project as a node for export, from one snapshot, so that all dependencies are included.

    Without `archived`, archived tasks are left out. Raises NoSuchProject.
    """
    return store.read(lambda rows: _all_nodes(rows, project, archived=archived))


def _all_nodes(rows: Rows, project: str, *, archived: bool) -> list[Node]:
    """Return every task of a project as a node, read page by page."""
    check_project(rows, project)
    every = page = _page_of_nodes(rows, project, "", archived=archived)
    while len(page) == PAGE:
        page = _page_of_nodes(rows, project, page[-1].slug, archived=archived)
        every += page
    return every


def _page_of_nodes(rows: Rows, project: str, last: str, *, archived: bool) -> list[Node]:
    """Return the next tasks after the slug `last`, at most PAGE, with their dependencies, tags, log and artifacts."""
    page = q.page_of_tasks(rows, project=project, after_slug=last, archived=int(archived), most=PAGE)
    if not page:
        return []
    span = {"project": project, "after_slug": last, "until_slug": page[-1].slug}
    after = _group_by_slug((row.slug, row.needs) for row in q.edges_from(rows, **span))
    tags = _group_by_slug((row.slug, row.tag) for row in q.tags_from(rows, **span))
    log = _group_by_slug((row.slug, log_entry(row)) for row in q.log_from(rows, **span))
    artifacts = _group_by_slug((row.slug, artifact(row)) for row in q.artifacts_from(rows, **span))
    return [
        Node(
            slug=row.slug,
            title=row.title,
            description=row.description or None,
            status=row.status,
            priority=row.priority or None,
            after=after.get(row.slug),
            tags=tags.get(row.slug),
            not_before=iso_or_none(row.not_before),
            verify=row.verify,
            engine=row.engine,
            model=row.model,
            assignee=row.assignee,
            attempts=row.attempts or None,
            reason=row.reason,
            paused=bool(row.paused) or None,
            archived=bool(row.archived) or None,
            log=log.get(row.slug),
            artifacts=artifacts.get(row.slug),
            added_at=iso(row.added_at),
            changed_at=iso(row.changed_at),
            started_at=iso_or_none(row.started_at),
            ended_at=iso_or_none(row.ended_at),
        )
        for row in page
    ]


def _group_by_slug(pairs: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
    """Return the values of (slug, value) pairs as one list for each task's slug."""
    groups: dict[str, list[T]] = {}
    for slug, value in pairs:
        groups.setdefault(slug, []).append(value)
    return groups


def markdown(project: str, nodes: list[Node]) -> Iterator[str]:
    """Yield the lines of a Markdown page: one section for each status, one line for each task."""
    yield f"# Tasks of {project}"
    for status, (_mark, heading) in _SECTIONS.items():
        listed = [node for node in nodes if node.status == status]
        if listed:
            yield f"\n## {heading} ({len(listed)})\n"
            yield from (_markdown_line(node) for node in listed)


def _markdown_line(node: Node) -> str:
    """Return the line of a task for the Markdown page."""
    after = f" — after {', '.join(f'`{each}`' for each in node.after)}" if node.after else ""
    tags = "".join(f" #{tag}" for tag in node.tags or ())
    who = f" ({node.assignee})" if node.status == "in_progress" else ""
    reason = f" — {' '.join(node.reason.split())}" if node.reason else ""
    return f"- {_SECTIONS[node.status][0]} **{_escape_markdown(node.title)}** `{node.slug}`{who}{tags}{after}{reason}"


def _escape_markdown(title: str) -> str:
    """Return a title with the characters escaped that Markdown would interpret."""
    return "".join(f"\\{char}" if char in "*_`[]<>\\" else char for char in title)
