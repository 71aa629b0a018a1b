"""Overview: the projects with their counts, open questions, and claims that are no longer needed and not released."""

from __future__ import annotations

from fleet.model.results.projects import Counts, DispatchCounts, ProjectView
from fleet.model.results.value import Value
from fleet.model.results.views import Asked
from fleet.model.tasks.steps import STATUSES
from fleet.model.text.times import iso
from fleet.store import queries as q
from fleet.verbs.agents.cost.spending import NOTHING, cost_of_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.queries import DispatchCount, Project, StatusCount
    from fleet.store.transaction import Rows


class ProjectsOverview(Value):
    """The projects by name, and lines about claims that are no longer needed and not released."""

    projects: list[ProjectView]
    reclaim: list[str]


def overview(rows: Rows, now: int) -> ProjectsOverview:
    """Return every project with its counts, and lines about claims that are no longer needed and not released.

    `now` is in milliseconds.
    """
    projects = {row.name: row for row in q.all_projects(rows)}
    counts: dict[str, list[StatusCount]] = {name: [] for name in projects}
    for count in q.project_counts(rows):
        counts[count.project].append(count)
    ready = {row.project: row.n for row in q.ready_counts(rows, now=now)}
    dispatches = {row.project: row for row in q.dispatch_counts(rows)}
    return ProjectsOverview(
        projects=[
            _project_view(row, counts[name], ready.get(name, 0), dispatches.get(name)).replaced(
                used=cost_of_project(rows, name)
            )
            for name, row in projects.items()
        ],
        reclaim=[_describe_claims(row.kind, row.n) for row in q.reclaim_trouble(rows)],
    )


def _project_view(row: Project, counts: list[StatusCount], ready: int, dispatches: DispatchCount | None) -> ProjectView:
    """Return a project with the counts of its tasks and dispatches."""
    shown = {count.status: count.n for count in counts if not count.archived}
    return ProjectView(
        name=row.name,
        path=row.path,
        added_at=iso(row.added_at),
        ready=ready,
        archived=sum(count.n for count in counts if count.archived),
        finished=sum(count.n for count in counts if count.status == "done"),
        tasks=Counts(**{status: shown.get(status, 0) for status in STATUSES}),
        dispatches=DispatchCounts(
            active=int(dispatches.active) if dispatches else 0,
            blocked_reclaim=int(dispatches.blocked) if dispatches else 0,
        ),
        used=NOTHING,
    )


def questions(rows: Rows, project: str | None = None) -> list[Asked]:
    """Return the unanswered questions of agents, oldest first, of all projects or of one."""
    return [
        Asked.made_of(row, asked_at=iso(row.asked_at))
        for row in q.waiting_questions(rows)
        if project in {None, row.project}
    ]


def _describe_claims(kind: str, count: int) -> str:
    """Return how many claims of a kind are not released, for example "2 worktrees kept: uncommitted work, …"."""
    if kind == "worktree":
        return f"{count} worktree{'' if count == 1 else 's'} kept: uncommitted work, or not swept yet"
    return f"{count} {kind.replace('_', ' ')}{'' if count == 1 else 's'} not released yet"
