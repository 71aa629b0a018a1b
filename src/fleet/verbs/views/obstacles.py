"""Obstacles: why no agent starts on the ready tasks of a project although no task has failed. A person has to act."""

from __future__ import annotations

from fleet import errors
from fleet.model.results.views import Obstacle
from fleet.verbs.coord.seat_status import seat_status
from fleet.verbs.merge.recorded import describe_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.projects import ProjectView
    from fleet.verbs.context import Context
    from fleet.verbs.dispatch.plan import Wanted

_DEAD = frozenset({"dead", "ended"})


def find_obstacle(context: Context, project: str, *, ready: bool) -> str | None:
    """Return why a project is stopped; None when nothing stops it.

    Reasons are missing merges, a dead coordinator, or an agent that could not start. A project that never had a
    coordinator is checked for missing merges only: there a person starts the agents.
    """
    missing = describe_missing(context, project)
    if missing:
        return missing
    seat = seat_status(context, project)
    if seat.state in _DEAD:
        return f"its coordinator {seat.holder} is dead: `fleet up` in the repository starts another"
    if seat.holder is None:
        return None
    if not ready:
        return _lacking_variables(context, project)
    from fleet.verbs.dispatch.plan import Wanted

    return unstartable(context, Wanted(project=project, slug=""), ticks=True)


def unstartable(context: Context, wanted: Wanted, *, ticks: bool = False) -> str | None:
    """Return why the wanted agent could not be started now, or what its environment would lack; None when all is well.

    With `ticks`, a tick is to start it, with the environment that ticks pass on.
    """
    from fleet.verbs.dispatch.plan import check_start
    from fleet.verbs.homes.environment import missing

    try:
        _project, engine, _autonomy = check_start(context, wanted, ticks=ticks)
    except errors.FleetError as error:
        return error.spoken
    lacking = missing(context, engine)
    return describe_lacking(lacking) if lacking else None


def _lacking_variables(context: Context, project: str) -> str | None:
    """Say which variables the agents of a project would lack; None when the project's engine needs none of them."""
    name = context.setting("engine", project)
    if not name:
        return None
    from fleet.engines.reader import engine
    from fleet.verbs.homes.environment import missing

    try:
        lacking = missing(context, engine(context.home, name))
    except errors.FleetError as error:
        return error.spoken
    return describe_lacking(lacking) if lacking else None


def describe_lacking(names: list[str]) -> str:
    """Say which variables agents do not get, by name only, and how to give them."""
    are = "is" if len(names) == 1 else "are"
    way = "export it and run `fleet up`, or write it into the file that the setting environment.file names"
    return f"agents lack {', '.join(names)}: {are} not set where fleet takes their environment from; {way}"


def find_obstacles(context: Context, projects: list[ProjectView]) -> list[Obstacle]:
    """Return the obstacle of each project that has one. Unreadable settings count as an obstacle of their project."""
    reasons = ((each.name, _find_obstacle_or_bad_setting(context, each)) for each in projects)
    return [Obstacle(project=name, text=text) for name, text in reasons if text]


def _find_obstacle_or_bad_setting(context: Context, project: ProjectView) -> str | None:
    """Return the obstacle of a project, or the error in its settings; None when there is neither."""
    try:
        return find_obstacle(context, project.name, ready=project.ready > 0)
    except errors.BadSetting as error:
        return error.spoken
