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
    if seat.wake_trouble:
        return f"its coordinator {seat.holder} cannot be woken: {seat.wake_trouble}"
    if seat.holder is None or not ready:
        return None
    from fleet.verbs.dispatch.plan import Wanted

    return unstartable(context, Wanted(project=project, slug=""))


def unstartable(context: Context, wanted: Wanted) -> str | None:
    """Return why the wanted agent could not be started now; None when it could be started."""
    from fleet.verbs.dispatch.plan import check_start

    try:
        check_start(context, wanted)
    except errors.FleetError as error:
        return error.spoken
    return None


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
