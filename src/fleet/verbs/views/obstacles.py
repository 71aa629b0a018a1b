"""What hinders a project: why what is ready is not begun, though nobody says so. Only a person can mend it."""

from __future__ import annotations

from fleet.errors.families import FleetError
from fleet.errors.given import BadSetting
from fleet.verbs.coord.seat_status import seat_status
from fleet.verbs.merge.recorded import describe_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.verbs.context import Context
    from fleet.verbs.dispatch.plan import Wanted

_DEAD = frozenset({"dead", "ended"})


def hindrance(context: Context, project: str, *, ready: bool) -> str | None:
    """Return what keeps a project from going on: merged work that is missing, a dead coordinator, an agent that could not start.

    A project that never had a coordinator is a person's own.
    """
    missing = describe_missing(context, project)
    if missing:
        return missing
    found = seat_status(context, project)
    if found["state"] in _DEAD:
        return f"its coordinator {found['holder']} is dead: `fleet up` in the repository starts another"
    if found["holder"] is None or not ready:
        return None
    from fleet.verbs.dispatch.plan import Wanted

    return unstartable(context, Wanted(project=project, slug=""))


def unstartable(context: Context, wanted: Wanted) -> str | None:
    """Why such an agent could not be started now."""
    from fleet.verbs.dispatch.plan import check_start

    try:
        check_start(context, wanted)
    except FleetError as error:
        return error.spoken
    return None


def hindrances(context: Context, projects: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Those of all projects. Settings that cannot be read are their own project's hindrance, not everybody's."""
    found = ((each["name"], _said(context, each)) for each in projects)
    return [{"project": name, "text": text} for name, text in found if text]


def _said(context: Context, project: dict[str, Any]) -> str | None:
    try:
        return hindrance(context, project["name"], ready=project["ready"] > 0)
    except BadSetting as error:
        return error.spoken
