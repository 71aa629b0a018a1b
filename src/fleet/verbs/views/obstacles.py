"""Obstacles: why no agent starts on the ready tasks of a project, and why its finished work is not merged.

Each obstacle is the error that a start would raise. `status`, `task why` and `fleet up` use this module; it changes
nothing.
"""

from __future__ import annotations

from fleet import errors
from fleet.model.branches import task_branch
from fleet.model.dispatch.may_start import why_asleep, why_no_room, why_setup_fails, why_uncoordinated
from fleet.model.results.views import Obstacle
from fleet.store import queries as q
from fleet.verbs.coord.seat_status import seat_status
from fleet.verbs.merge.recorded import refuse_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from fleet.engines.reader import Engine
    from fleet.model.results.projects import ProjectView
    from fleet.store.queries import ListedTask
    from fleet.verbs.context import Context
    from fleet.verbs.dispatch.plan import Wanted

# How many ready tasks of a project are checked one by one.
_MOST_TASKS = 20


def find_obstacles(context: Context, projects: list[ProjectView], merging: Collection[str]) -> list[Obstacle]:
    """Return the obstacles of all projects; `merging` are the projects whose finished work waits to be merged.

    A project that never had a coordinator is checked for missing merges only: there a person starts the agents.
    """
    found: list[Obstacle] = []
    for each in projects:
        found += _project_obstacles(context, each, merges=each.name in merging)
    return found


def _project_obstacles(context: Context, project: ProjectView, *, merges: bool) -> list[Obstacle]:
    """Return the obstacles of one project.

    When recorded merges are missing, or the coordinator is absent or cannot be woken, only that is returned; otherwise
    everything that keeps agents and merges from starting.
    """
    name = project.name
    missing = _refusal_of(lambda: refuse_missing(context, name))
    if missing is not None:
        return [_obstacle_of(name, missing)]
    seat = seat_status(context, name)
    alone = why_uncoordinated(seat.state, seat.holder, seat.epoch, ready=project.ready > 0)
    if alone is not None:
        return [_obstacle_of(name, alone)]
    asleep = why_asleep(seat.holder, seat.wake_trouble)
    if asleep is not None:
        return [_obstacle_of(name, asleep)]
    if not seat.epoch:
        return []
    lacking = _missing_variables(context, name)
    if not (project.ready or merges):
        return lacking
    found = [_obstacle_of(name, each) for each in _merge_refusals(context, name)]
    return [*found, *(_obstacles_of_ready_tasks(context, name) if project.ready else []), *lacking]


def _obstacles_of_ready_tasks(context: Context, project: str) -> list[Obstacle]:
    """Return what keeps ready tasks from starting: first the reasons common to all tasks, then those of single tasks."""
    from fleet.verbs.dispatch.plan import Wanted

    now = context.world.clock.now()
    rows = context.store.read(lambda snapshot: q.ready_tasks(snapshot, project=project, now=now, most=_MOST_TASKS))
    refusals = start_refusals(context, Wanted(project=project, slug=""))
    return [
        *(_obstacle_of(project, each) for each in refusals),
        *(_obstacle_of(project, each, row.slug) for row in rows for each in _own_refusals(context, row, refusals)),
    ]


def start_refusals(context: Context, wanted: Wanted) -> list[errors.FleetError]:
    """Return every reason why the wanted agent could not be started now, as errors; an empty list when it could."""
    project = wanted.project
    checks = (
        lambda: _check_engine(context, wanted),
        lambda: _check_branches(context, project),
        lambda: _check_setup(context, project),
        lambda: _check_room(context, project),
        lambda: _check_budget(context, project, wanted.slug or None),
    )
    return [refusal for check in checks if (refusal := _refusal_of(check)) is not None]


def task_obstacles(context: Context, project: str, slug: str) -> list[Obstacle]:
    """Return what keeps one ready task from starting, or its project from merging; [] when nothing is found.

    Among them is that no coordinator starts it. Not checked: whether the task is ready, whether the coordinator can be
    woken, and who owns the task's bundle.
    """
    from fleet.verbs.dispatch.plan import Wanted

    seat = seat_status(context, project)
    checks = [_refusal_of(lambda: refuse_missing(context, project)), *_merge_refusals(context, project)]
    checks += start_refusals(context, Wanted(project=project, slug=slug))
    checks.append(_refusal_of(lambda: _check_task_branch(context, project, slug)))
    checks.append(why_uncoordinated(seat.state, seat.holder, seat.epoch, ready=True))
    different = {each.spoken: each for each in checks if each is not None}  # bad settings fail several checks
    return [_obstacle_of(project, each, slug) for each in different.values()]


def sentence(slug: str, obstacle: Obstacle) -> str:
    """Return the sentence that tells a person of an obstacle of a ready task."""
    if obstacle.kind == errors.BranchInUse.__name__:
        return f"what {slug} makes is not merged: {obstacle.text}"
    return f"{slug} does not start: {obstacle.text}"


def _own_refusals(context: Context, row: ListedTask, known: list[errors.FleetError]) -> list[errors.FleetError]:
    """Return the errors that keep this one task from starting and are not in `known`: its engine, branch or budget."""
    from fleet.verbs.dispatch.plan import Wanted

    found = _refusal_of(lambda: _check_task_branch(context, row.project, row.slug))
    own = None
    if row.engine:
        own = _refusal_of(lambda: _check_engine(context, Wanted(project=row.project, slug="", engine=row.engine)))
    money = _refusal_of(lambda: _check_budget(context, row.project, row.slug))
    texts = {each.spoken for each in known}
    return [each for each in (found, own, money) if each is not None and each.spoken not in texts]


def _refusal_of(check: Callable[[], None]) -> errors.FleetError | None:
    """Return the error that a check raises; None when it raises none."""
    try:
        check()
    except errors.FleetError as error:
        return error
    return None


def _check_engine(context: Context, wanted: Wanted) -> None:
    """Raise the error that keeps the engine from starting here: not installed, not trusted, not ready, or held back."""
    from fleet.verbs.agents.cost.apply_holds import why_engine_held
    from fleet.verbs.dispatch.plan import check_start

    _project, engine, _autonomy = check_start(context, wanted, ticks=True)
    percent, now = context.settings().limits_quota_percent, context.world.clock.now()
    held = context.store.read(lambda rows: why_engine_held(rows, engine.name, now, quota_percent=percent))
    if held is not None:
        raise held


def _check_budget(context: Context, project: str, slug: str | None) -> None:
    """Raise OverBudget when a budget of the task, the project or the day is spent.

    `slug` is None for a coordinator, which has no task.
    """
    from fleet.verbs.agents.cost.budgets import limits_in, refuse_spent

    limits, now = limits_in(context.settings_with_sources()), context.world.clock.now()
    context.store.read(lambda rows: refuse_spent(rows, limits, project=project, slug=slug, at=now))


def _check_variables(context: Context, engine: Engine) -> None:
    """Raise VariablesMissing, with names only, when an agent that a tick starts would lack environment variables."""
    from fleet.verbs.homes.environment import missing_variables

    lacking = missing_variables(context, engine)
    if lacking:
        raise errors.VariablesMissing(engine=engine.name, names=", ".join(lacking))


def _missing_variables(context: Context, project: str) -> list[Obstacle]:
    """Return an obstacle if agents would lack environment variables, whether or not a task is ready; else [].

    [] also when something else keeps the engine from starting, because that is reported only while a task is ready.
    """
    from fleet.verbs.dispatch.plan import Wanted, check_start

    try:
        _project, engine, _autonomy = check_start(context, Wanted(project=project, slug=""), ticks=True)
    except errors.FleetError:
        return []
    lacking = _refusal_of(lambda: _check_variables(context, engine))
    return [] if lacking is None else [_obstacle_of(project, lacking)]


def _check_branches(context: Context, project: str) -> None:
    """Raise the error that says why no agent could start from the project's integration branch. Changes nothing.

    No error is raised when the branch exists, or when it can be made: from a commit, under a name that git allows.
    """
    from fleet.verbs.merge.branches import check_integration

    check_integration(context, project, context.project(project).path)


def _check_task_branch(context: Context, project: str, slug: str) -> None:
    """Raise ForeignBranch when the task's branch exists and is not fleet's."""
    from fleet.verbs.dispatch.plan import refuse_foreign_branch

    row, branch = context.project(project), task_branch(slug)
    if branch in context.world.git.branches(row.path, branch):
        refuse_foreign_branch(context, row, slug)


def _check_setup(context: Context, project: str) -> None:
    """Raise the error with which the last setup of a worktree of the project failed, if it did."""
    why = why_setup_fails(project, context.store.read(lambda rows: q.setup_failure_of(rows, project=project)))
    if why is not None:
        raise why


def _check_room(context: Context, project: str) -> None:
    """Raise LimitReached when a limit of running agents is reached."""
    most, most_here = context.settings().limits_agents, context.settings().limits_project_agents
    count = context.store.read(lambda rows: q.count_unfinished(rows, project=project))
    full = why_no_room(project, count, agents=most, project_agents=most_here)
    if full is not None:
        raise full


def _merge_refusals(context: Context, project: str) -> list[errors.FleetError]:
    """Return the error that keeps work from being merged, as a list; [] when there is none.

    The error says that the integration branch is checked out, or cannot be read.
    """
    from fleet.verbs.merge.branches import refuse_checked_out

    def check() -> None:
        """Raise an error when the integration branch is checked out or cannot be read."""
        repository, branch = context.project(project).path, context.settings(project).integration
        if branch in context.world.git.branches(repository, branch):
            refuse_checked_out(context, repository, branch)

    why = _refusal_of(check)
    return [] if why is None else [why]


def _obstacle_of(project: str, error: errors.FleetError, slug: str | None = None) -> Obstacle:
    """Return an error as an obstacle of a task, or, without a slug, of the project."""
    return Obstacle(project=project, slug=slug, kind=type(error).__name__, text=error.spoken)
