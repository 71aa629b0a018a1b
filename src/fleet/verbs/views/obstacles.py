"""What hinders a project: why ready work is not begun although nobody reports a failure. Only a person can mend it."""

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
    """Return what stops a project: missing merges, a dead coordinator, or an agent that could not start; None when nothing does.

    In a project that never had a coordinator a person starts the agents: there only missing merges are reported.
    """
    missing = describe_missing(context, project)
    if missing:
        return missing
    seat = seat_status(context, project)
    if seat.state in _DEAD:
        return f"its coordinator {seat.holder} is dead: `fleet up` in the repository starts another"
    if seat.holder is None or not ready:
        return None
    from fleet.verbs.dispatch.plan import Wanted

    return unstartable(context, Wanted(project=project, slug=""))


def unstartable(context: Context, wanted: Wanted) -> str | None:
    """Return why such an agent could not be started now; None when it could."""
    from fleet.verbs.dispatch.plan import check_start

    try:
        check_start(context, wanted)
    except errors.FleetError as error:
        return error.spoken
    return None


def find_obstacles(context: Context, projects: list[ProjectView]) -> list[Obstacle]:
    """What stops each project. Settings that cannot be read stop their own project only."""
    reasons = ((each.name, _find_obstacle_or_bad_setting(context, each)) for each in projects)
    return [Obstacle(project=name, text=text) for name, text in reasons if text]


def _find_obstacle_or_bad_setting(context: Context, project: ProjectView) -> str | None:
    try:
        return find_obstacle(context, project.name, ready=project.ready > 0)
    except errors.BadSetting as error:
        return error.spoken
