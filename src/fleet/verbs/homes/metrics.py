"""Metrics: the figures of a home, for Prometheus and others.

Reading them takes longer with more projects and running agents, but not with more finished tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.agents.budgets import SETTING_OF
from fleet.model.results.home import AgentCount, Metrics, ProjectMetrics
from fleet.model.tasks.steps import STATUSES
from fleet.model.text.open_metrics import Family, Sample
from fleet.store import queries as q
from fleet.verbs.agents.cost.spending import cost_of_day
from fleet.verbs.views.at_work import agents_at_work
from fleet.verbs.views.overview import overview

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fleet.model.results.agents import AgentView
    from fleet.model.results.home import DaemonFigures
    from fleet.model.results.projects import ProjectView
    from fleet.model.text.open_metrics import FamilyKind
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Context

# The figures that exist once for each project: family, kind, help, field of ProjectMetrics.
_FIGURES_OF_PROJECT: tuple[tuple[str, FamilyKind, str, str], ...] = (
    ("fleet_tasks_archived", "gauge", "Archived tasks.", "archived"),
    ("fleet_tasks_ready", "gauge", "Tasks that could be started now.", "ready"),
    ("fleet_dispatches_active", "gauge", "Dispatches that have not ended.", "active"),
    ("fleet_dispatches_blocked_reclaim", "gauge", "Dispatches that hold something still.", "blocked_reclaim"),
    ("fleet_questions_waiting", "gauge", "Questions that no person has answered.", "questions"),
    ("fleet_tokens", "counter", "Tokens that agents have used.", "tokens"),
    ("fleet_cost_dollars", "counter", "What agents have cost, by list prices.", "dollars"),
)


def snapshot(context: Context) -> Metrics:
    """Return the figures of the home as they are now: tasks, agents by state, costs, limits and held engines."""
    agents, now = agents_at_work(context), context.world.clock.now()
    settings = context.settings_with_sources()
    limits = {name: settings[name].value for name in ("limits.agents", "limits.project_agents", *SETTING_OF.values())}
    return context.store.read(lambda rows: _read_metrics(rows, agents, limits, now))


def snapshot_or_none(view: Callable[[], Context]) -> Metrics | None:
    """Return the figures of the home as they are now; None when the store cannot be read.

    `view` returns the context of a new request; it may raise StoreError too.
    """
    try:
        return snapshot(view())
    except errors.StoreError:
        return None


def _read_metrics(rows: Rows, agents: list[AgentView], limits: dict[str, float | None], now: int) -> Metrics:
    """Return the figures, from the store and from the given views of agents.

    `limits` maps the name of each setting to its value, None when it is not set. `now` is in milliseconds.
    """
    asked = q.waiting_questions(rows)
    questions = {name: sum(each.project == name for each in asked) for name in {each.project for each in asked}}
    return Metrics(
        projects=[_project_metrics(view, questions.get(view.name, 0)) for view in overview(rows, now).projects],
        agents=_agent_counts(agents),
        operations=q.last_operation(rows).seq,
        held=[each.engine for each in q.all_holds(rows)],
        limits={name: value for name, value in limits.items() if value is not None},
        dollars_today=cost_of_day(rows, now).dollars,
    )


def _project_metrics(view: ProjectView, questions: int) -> ProjectMetrics:
    """Return the figures of one project; `questions` is how many questions of its agents nobody has answered."""
    return ProjectMetrics(
        project=view.name,
        tasks={status: getattr(view.tasks, status) for status in STATUSES},
        archived=view.archived,
        ready=view.ready,
        active=view.dispatches.active,
        blocked_reclaim=view.dispatches.blocked_reclaim,
        questions=questions,
        tokens=view.used.tokens,
        dollars=view.used.dollars,
    )


def _agent_counts(agents: list[AgentView]) -> list[AgentCount]:
    """Return how many agents there are of each project, kind and state."""
    keys = [(agent.project, agent.kind, agent.state) for agent in agents]
    return [
        AgentCount(project=project, kind=kind, state=state, n=keys.count((project, kind, state)))
        for project, kind, state in sorted(set(keys))
    ]


# as OpenMetrics -------------------------------------------------------------------------------------------------------
def families(figures: Metrics | None, *, version: str, daemon: DaemonFigures | None = None) -> Iterator[Family]:
    """Yield the figures as metrics (in OpenMetrics: families); those of the daemon too, if they are given.

    `figures` is None when the store cannot be read.
    """
    yield _family("fleet", "info", "The version of fleet.", [Sample(value=1, labels={"version": version})])
    yield _plain("fleet_store_up", "gauge", "Whether the store can be read: 1 or 0.", figures is not None)
    if figures is not None:
        yield from _home_families(figures)
    if daemon is not None:
        yield from _daemon_families(daemon)


def _home_families(figures: Metrics) -> Iterator[Family]:
    """Yield the figures of the home as OpenMetrics families."""
    yield from _project_families(figures.projects)
    yield _family("fleet_agents", "gauge", "Agents at work, by their state.", map(_agent_sample, figures.agents))
    yield _plain("fleet_operations", "counter", "Committed changes: the newest sequence number.", figures.operations)
    yield _plain("fleet_cost_today_dollars", "gauge", "What all agents have cost today.", figures.dollars_today)
    held = [Sample(value=1, labels={"engine": engine}) for engine in figures.held]
    yield _family("fleet_engine_held", "gauge", "Engines that a limit or a login holds back.", held)
    limits = [Sample(value=value, labels={"limit": name}) for name, value in figures.limits.items()]
    yield _family("fleet_limit", "gauge", "The limits of the settings; those of costs in dollars.", limits)


def _project_families(projects: list[ProjectMetrics]) -> Iterator[Family]:
    """Yield a metric (in OpenMetrics a family) for the tasks by status, and one for each other figure of a project."""
    tasks = [
        Sample(value=number, labels={"project": each.project, "status": status})
        for each in projects
        for status, number in each.tasks.items()
    ]
    yield _family("fleet_tasks", "gauge", "Tasks that are not archived, by status.", tasks)
    for name, kind, help_, field in _FIGURES_OF_PROJECT:
        samples = [Sample(value=getattr(each, field), labels={"project": each.project}) for each in projects]
        yield _family(name, kind, help_, samples)


def _daemon_families(daemon: DaemonFigures) -> Iterator[Family]:
    """Yield one metric (in OpenMetrics a family) for each figure of the daemon."""
    yield _plain("fleet_daemon_uptime_seconds", "gauge", "How long the daemon has been running.", daemon.uptime)
    yield _plain("fleet_daemon_requests", "counter", "Requests that the daemon has answered.", daemon.requests)
    yield _plain("fleet_daemon_errors", "counter", "Requests that ended in an error.", daemon.errors)
    yield _plain("fleet_daemon_batches", "counter", "Transactions that requests have shared.", daemon.batches)
    yield _plain("fleet_daemon_batched_requests", "counter", "Requests in these transactions.", daemon.batched)
    yield _plain("fleet_daemon_largest_batch", "gauge", "Most requests in one transaction.", daemon.largest_batch)
    yield _plain("fleet_daemon_clients", "gauge", "Clients that are connected.", daemon.clients)
    duties = [Sample(value=number, labels={"duty": name}) for name, number in daemon.duty_failures.items()]
    yield _family("fleet_daemon_duty_failures", "counter", "Failed rounds of the daemon's duties.", duties)


def _agent_sample(count: AgentCount) -> Sample:
    """Return the number of agents with the same project, kind and state as a sample."""
    return Sample(value=count.n, labels={"project": count.project, "kind": count.kind, "state": count.state})


def _plain(name: str, kind: FamilyKind, help_: str, value: float) -> Family:
    """Return a metric (in OpenMetrics a family) with one sample and no labels."""
    return _family(name, kind, help_, [Sample(value=value)])


def _family(name: str, kind: FamilyKind, help_: str, samples: Iterable[Sample]) -> Family:
    """Return a metric (in OpenMetrics a family) with these samples."""
    return Family(name=name, kind=kind, help=help_, samples=tuple(samples))
