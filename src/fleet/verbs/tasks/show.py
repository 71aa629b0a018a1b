"""Show, list and explain tasks. Reads only; times become text, flags become booleans."""

from __future__ import annotations

from fleet.errors.absent import NoSuchProject
from fleet.model import names
from fleet.model.tasks import fence
from fleet.model.text.times import iso, iso_or_none
from fleet.store import queries as q
from fleet.store import tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fleet.store.queries import ListedTask, WholeTask
    from fleet.store.transaction import Rows, Store

    Document = dict[str, Any]

PAGE = 500
EVERYTHING = 1 << 60
_TIMES = ("not_before", "added_at", "changed_at", "started_at", "ended_at")


class Filters:
    """Which tasks to list."""

    __slots__ = ("archived", "assignee", "limit", "status", "tag", "text")

    def __init__(
        self,
        *,
        status: str | None = None,
        tag: str | None = None,
        text: str | None = None,
        assignee: str | None = None,
        archived: bool = False,
        limit: int | None = None,
    ) -> None:
        self.status = status
        self.tag = tag
        self.text = text
        self.assignee = assignee
        self.archived = archived
        self.limit = EVERYTHING if limit is None else limit


def document(row: WholeTask, now: int) -> Document:
    """A task's row as people and programs read it."""
    shown = {name: iso_or_none(value) if name in _TIMES else value for name, value in row.items()}
    return shown | {"paused": bool(row.paused), "archived": bool(row.archived), "state": _state(row, now)}


def _state(row: WholeTask, now: int) -> str:
    """A task's status; of an open one whether it is ready or waits."""
    if row.status != "open":
        return str(row.status)
    return "waiting" if fence.why_not_ready(row, now=now) else "ready"


def show(rows: Rows, project: str, slug: str, now: int) -> Document:
    """Everything about one task."""
    row = q.task_whole(rows, project=names.project(project), slug=names.slug(slug))
    if row is None:
        raise tasks.missing(rows, project, slug)
    here = {"project": project, "slug": slug}
    return document(row, now) | {
        "after": [need.slug for need in q.task_needs(rows, **here)],
        "dependents": [each.slug for each in q.task_dependents(rows, **here)],
        "tags": [each.tag for each in q.task_tags(rows, **here)],
        "log": [{**each, "at": iso(each.at)} for each in q.task_log(rows, **here)],
        "artifacts": [{**each, "at": iso(each.at)} for each in q.task_artifacts(rows, **here)],
    }


def ready(rows: Rows, project: str, now: int, limit: int | None = None) -> list[Document]:
    """What could be started now, most urgent first."""
    check_project(rows, project)
    return [document(row, now) for row in q.ready_tasks(rows, project=project, now=now, most=limit or EVERYTHING)]


def listed(store: Store, project: str, now: int, filters: Filters) -> Iterator[Document]:
    """Tasks that fit the filters, a page at a time, so that no snapshot is held for long."""
    store.read(lambda rows: check_project(rows, project))
    last: str | None = ""
    left = filters.limit
    while left > 0 and last is not None:
        page, last = store.read(lambda rows: _page(rows, project, filters, (last, left)))  # noqa: B023
        for row in page[:left]:
            yield document(row, now)
        left -= len(page)


def _page(
    rows: Rows, project: str, filters: Filters, place: tuple[str | None, int]
) -> tuple[list[ListedTask], str | None]:
    """The tasks of a page that fit, and the slug behind which the next page begins; None when this was the last."""
    last, left = place
    exact = filters.text is None or filters.text.isascii()
    most = min(PAGE, left) if exact else PAGE
    wanted = {
        "status": filters.status,
        "assignee": filters.assignee,
        "tag": filters.tag,
        "text": _pattern(filters.text),
    }
    found = q.listed_tasks(rows, project=project, archived=int(filters.archived), after_slug=last, most=most, **wanted)
    fitting = found if exact else [row for row in found if _has(rows, row, filters.text or "")]
    return fitting, found[-1].slug if len(found) == most else None


def _pattern(text: str | None) -> str | None:
    """For LIKE. Both databases lower A to Z only, so that any other letter may be anything here; `_has` looks closer."""
    if text is None:
        return None
    letters = [f"!{char}" if char in "!%_" else char.lower() if char.isascii() else "%" for char in text]
    return f"%{''.join(letters)}%"


def _has(rows: Rows, row: ListedTask, text: str) -> bool:
    whole = q.task_whole(rows, project=row.project, slug=row.slug) or row
    return any(text.lower() in str(whole.get(name, "")).lower() for name in ("slug", "title", "description"))


def check_project(rows: Rows, project: str) -> None:
    """Refuse a project that is not registered."""
    if q.project_by_name(rows, name=names.project(project)) is None:
        raise NoSuchProject(project=project)


def graph(rows: Rows, project: str, now: int, *, archived: bool = False) -> Document:
    """All nodes and edges of a project."""
    check_project(rows, project)
    found = q.page_of_tasks(rows, project=project, after_slug="", archived=int(archived), most=EVERYTHING)
    before, behind = ("slug", "title", "status"), ("priority", "assignee")
    nodes = [
        {name: row[name] for name in before} | {"state": _state(row, now)} | {name: row[name] for name in behind}
        for row in found
    ]
    known = {node.slug for node in nodes}
    edges = [row for row in q.project_edges(rows, project=project) if {row.slug, row.needs} <= known]
    return {"project": project, "nodes": nodes, "edges": edges}
