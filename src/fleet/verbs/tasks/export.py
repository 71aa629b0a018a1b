"""Export a graph: what import reads, or a page that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.model.text.times import iso, iso_or_none
from fleet.store import queries as q
from fleet.verbs.tasks.show import PAGE, check_project

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.store.queries import TaskTag, WholeTask
    from fleet.store.transaction import Row, Rows, Store

_MARKS = {"open": "[ ]", "in_progress": "[~]", "blocked": "[!]", "failed": "[!]", "done": "[x]", "abandoned": "[-]"}
_HEADINGS = (
    ("in_progress", "In progress"),
    ("blocked", "Blocked"),
    ("failed", "Failed"),
    ("open", "Open"),
    ("done", "Done"),
    ("abandoned", "Abandoned"),
)


def nodes(store: Store, project: str, *, archived: bool = True) -> list[dict[str, Any]]:
    """Every task as import reads it, all as of one moment: what one waits for is among them."""
    return store.read(lambda rows: _all(rows, project, archived=archived))


def _all(rows: Rows, project: str, *, archived: bool) -> list[dict[str, Any]]:
    check_project(rows, project)
    found = page = _page(rows, project, "", archived=archived)
    while len(page) == PAGE:
        page = _page(rows, project, page[-1]["slug"], archived=archived)
        found += page
    return found


def _page(rows: Rows, project: str, last: str, *, archived: bool) -> list[dict[str, Any]]:
    found = q.page_of_tasks(rows, project=project, after_slug=last, archived=int(archived), most=PAGE)
    if not found:
        return []
    span = {"project": project, "after_slug": last, "until_slug": found[-1].slug}
    parts = {
        "after": _grouped(q.edges_from(rows, **span), lambda row: row["needs"]),
        "tags": _grouped(q.tags_from(rows, **span), lambda row: row["tag"]),
        "log": _grouped(q.log_from(rows, **span), _said),
        "artifacts": _grouped(q.artifacts_from(rows, **span), _made),
    }
    return [_node(row) | {name: by[row.slug] for name, by in parts.items() if row.slug in by} for row in found]


def _grouped(rows: list[TaskTag], value: Any) -> dict[str, list[Any]]:  # noqa: ANN401 - a function of a row
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(row.slug, []).append(value(row))
    return found


def _said(row: Row) -> dict[str, Any]:
    return {"at": iso(row["at"]), "actor": row["actor"], "message": row["message"]}


def _made(row: Row) -> dict[str, Any]:
    return {"path": row["path"], "at": iso(row["at"]), "actor": row["actor"]}


def _node(row: WholeTask) -> dict[str, Any]:
    """The fields that say something, in a fixed order."""
    whole = {
        "slug": row.slug,
        "title": row.title,
        "description": row.description or None,
        "status": row.status,
        "priority": row.priority or None,
        "not_before": iso_or_none(row.not_before),
        "verify": row.verify,
        "engine": row.engine,
        "assignee": row.assignee,
        "attempts": row.attempts or None,
        "reason": row.reason,
        "paused": bool(row.paused) or None,
        "archived": bool(row.archived) or None,
        "added_at": iso(row.added_at),
        "changed_at": iso(row.changed_at),
        "started_at": iso_or_none(row.started_at),
        "ended_at": iso_or_none(row.ended_at),
    }
    return {name: value for name, value in whole.items() if value is not None}


def markdown(project: str, found: list[dict[str, Any]]) -> Iterator[str]:
    """tasks.md: a list a status, each task with what it waits for."""
    yield f"# Tasks of {project}"
    for status, heading in _HEADINGS:
        there = [node for node in found if node["status"] == status]
        if there:
            yield f"\n## {heading} ({len(there)})\n"
            yield from (_line(node) for node in there)


def _line(node: dict[str, Any]) -> str:
    after = f" — after {', '.join(f'`{each}`' for each in node['after'])}" if node.get("after") else ""
    tags = "".join(f" #{tag}" for tag in node.get("tags", ()))
    who = f" ({node['assignee']})" if node["status"] == "in_progress" else ""
    reason = f" — {' '.join(node['reason'].split())}" if node.get("reason") else ""
    return f"- {_MARKS[node['status']]} **{_plain(node['title'])}** `{node['slug']}`{who}{tags}{after}{reason}"


def _plain(title: str) -> str:
    return "".join(f"\\{char}" if char in "*_`[]<>\\" else char for char in title)
