"""Show and list tasks, as people and programs read them: times as text, flags as booleans. Only reads."""

from __future__ import annotations

from fleet import errors
from fleet.model import names
from fleet.model.identity import Identity
from fleet.model.results.tasks import ArtifactView, EdgeView, Graph, GraphNode, LogEntry, TaskDetails, TaskView
from fleet.model.results.value import Value
from fleet.model.tasks import fence
from fleet.model.text.times import iso, iso_or_none
from fleet.store import queries as q
from fleet.store import tasks
from fleet.verbs.agents.cost.spending import cost_before_handoffs, cost_of_task
from fleet.verbs.tasks.explain import state_in_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.model.states import ShownStatus, TaskStatus
    from fleet.store import queries
    from fleet.store.queries import ListedTask, TaskArtifact, TaskLogEntry, WholeTask
    from fleet.store.transaction import Rows, Store
    from fleet.verbs.context import Context

# How many tasks are read at once; more than there are tasks.
PAGE = 500
EVERYTHING = 1 << 60


class Filters(Value):
    """Which tasks to list; None matches every task. With `archived`, archived tasks are listed too.

    `text` has to be in the slug, the title or the description, in upper or lower case. `limit` is how many tasks are
    listed at most; None lists all.
    """

    status: TaskStatus | None = None
    tag: str | None = None
    text: str | None = None
    assignee: str | None = None
    archived: bool = False
    limit: int | None = None


def view(row: ListedTask | WholeTask, now: int) -> TaskView:
    """Return a row of the table of tasks in the form that people and programs read. `now` is in milliseconds."""
    return TaskView(
        project=row.project,
        slug=row.slug,
        title=row.title,
        status=row.status,
        stage=row.stage,
        state=_shown_status(row, now),
        priority=row.priority,
        paused=bool(row.paused),
        archived=bool(row.archived),
        not_before=iso_or_none(row.not_before),
        engine=row.engine,
        model=row.model,
        assignee=row.assignee,
        attempts=row.attempts,
        reason=row.reason,
        open_blockers=row.open_blockers,
        added_at=iso(row.added_at),
        changed_at=iso(row.changed_at),
    )


def _shown_status(row: ListedTask | WholeTask, now: int) -> ShownStatus:
    """Return the status of a task as it is shown: `ready` or `waiting` for an open task, any other status as it is."""
    if row.status != "open":
        return row.status
    return "waiting" if fence.why_not_ready(row, now=now) else "ready"


def show(rows: Rows, project: str, slug: str, now: int) -> TaskDetails:
    """Return all details of one task: fields, dependencies, tags, log and artifacts.

    Raise NoSuchTask, or NoSuchProject when the project is missing too.
    """
    row = q.task_whole(rows, project=names.project(project), slug=names.slug(slug))
    if row is None:
        raise tasks.missing_error(rows, project, slug)
    key = {"project": project, "slug": slug}
    return TaskDetails.made_of(
        view(row, now),
        says=state_in_words(rows, project, row, now),
        description=row.description,
        verify=row.verify,
        used=cost_of_task(rows, project, slug),
        started_at=iso_or_none(row.started_at),
        ended_at=iso_or_none(row.ended_at),
        after=[need.slug for need in q.task_needs(rows, **key)],
        dependents=[row.slug for row in q.task_dependents(rows, **key)],
        tags=[row.tag for row in q.task_tags(rows, **key)],
        log=[log_entry(row) for row in q.task_log(rows, **key)],
        artifacts=[artifact(row) for row in q.task_artifacts(rows, **key)],
        handoffs=q.handoffs_of_task(rows, **key).n,
        used_before_handoffs=cost_before_handoffs(rows, project, slug),
    )


def with_attempt(context: Context, task: TaskDetails) -> TaskDetails:
    """Return the task; when its agent has died and is not settled yet, its field `says` is replaced to say so.

    The store learns of the death only when the dispatch is settled.
    """
    attempt = context.store.read(lambda rows: q.unfinished_of_task(rows, project=task.project, slug=task.slug))
    who = Identity.parse(attempt.process or "") if attempt is not None else None
    if attempt is None or who is None or context.world.processes.life(who) != "dead":
        return task
    return task.replaced(
        says=f"was worked on by {attempt.id}, which has exited: the coordinator or `fleet clean` settles it"
    )


def log_entry(row: queries.LogEntry | TaskLogEntry) -> LogEntry:
    """Return a log message of a task in the form that people and programs read."""
    return LogEntry(at=iso(row.at), actor=row.actor, message=row.message)


def artifact(row: queries.Artifact | TaskArtifact) -> ArtifactView:
    """Return an artifact of a task in the form that people and programs read."""
    return ArtifactView(path=row.path, at=iso(row.at), actor=row.actor)


def ready(rows: Rows, project: str, now: int, limit: int | None = None) -> list[TaskView]:
    """Return the tasks that could be started now, most urgent first, at most `limit` of them (None: all)."""
    check_project(rows, project)
    most = EVERYTHING if limit is None else limit
    return [view(row, now) for row in q.ready_tasks(rows, project=project, now=now, most=most)]


def listed(store: Store, project: str, now: int, filters: Filters) -> Iterator[TaskView]:
    """Yield the tasks that match the filters, by slug. Each page of tasks is read in its own short snapshot."""
    store.read(lambda rows: check_project(rows, project))
    last, remaining = "", EVERYTHING if filters.limit is None else filters.limit
    while remaining > 0:
        page, last = store.read(lambda rows: _matching_page(rows, project, filters, last, remaining))  # noqa: B023
        yield from (view(row, now) for row in page[:remaining])
        remaining = remaining - len(page) if last else 0


def _matching_page(
    rows: Rows, project: str, filters: Filters, last: str, remaining: int
) -> tuple[list[ListedTask], str]:
    """Return the matching tasks of one page, and the slug after which the next page starts; "" after the last page."""
    exact = filters.text is None or filters.text.isascii()
    most = min(PAGE, remaining) if exact else PAGE
    page = q.listed_tasks(
        rows,
        project=project,
        after_slug=last,
        status=filters.status,
        assignee=filters.assignee,
        archived=int(filters.archived),
        text=_like_pattern(filters.text),
        tag=filters.tag,
        most=most,
    )
    fitting = page if exact else [row for row in page if _contains_text(rows, row, filters.text or "")]
    return fitting, page[-1].slug if len(page) == most else ""


def _like_pattern(text: str | None) -> str | None:
    """Return the SQL LIKE pattern that finds tasks by a text; None when the text is None.

    Both databases fold only ASCII letters, so any other letter becomes a wildcard; `_contains_text` checks those
    matches again.
    """
    if text is None:
        return None
    letters = [f"!{char}" if char in "!%_" else char.lower() if char.isascii() else "%" for char in text]
    return f"%{''.join(letters)}%"


def _contains_text(rows: Rows, row: ListedTask, text: str) -> bool:
    """Return whether the slug, title or description of a task contains the text, in upper or lower case."""
    task = q.task_whole(rows, project=row.project, slug=row.slug)
    return task is not None and text.lower() in f"{task.slug}\0{task.title}\0{task.description}".lower()


def check_project(rows: Rows, project: str) -> None:
    """Raise NoSuchProject when the project is not registered."""
    if q.project_by_name(rows, name=names.project(project)) is None:
        raise errors.NoSuchProject(project=project)


def graph(rows: Rows, project: str, now: int, *, archived: bool = False) -> Graph:
    """Return the tasks of a project as nodes, and their dependencies as edges; archived tasks only with `archived`.

    An edge is left out when one of its two tasks is.
    """
    check_project(rows, project)
    page = q.page_of_tasks(rows, project=project, after_slug="", archived=int(archived), most=EVERYTHING)
    known = {row.slug for row in page}
    edges = [EdgeView(slug=row.slug, needs=row.needs) for row in q.project_edges(rows, project=project)]
    return Graph(
        project=project,
        nodes=[GraphNode.made_of(row, state=_shown_status(row, now)) for row in page],
        edges=[edge for edge in edges if edge.slug in known and edge.needs in known],
    )
