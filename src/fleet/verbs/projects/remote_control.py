"""Remote control: whether a project's coordinator may be controlled from another device. Stored in the project's row."""

from __future__ import annotations

from fleet import errors
from fleet.model import names
from fleet.model.results.projects import RemoteControlView
from fleet.store import queries as q
from fleet.store.transaction import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import RemoteControl
    from fleet.store.transaction import Rows, Tx
    from fleet.verbs.context import Context, Request


def set_remote_control(*, project: str, to: RemoteControl) -> Change[RemoteControlView]:
    """Return the change that allows a project's coordinator to be controlled from another device ("up"), or not ("down").

    It takes effect at the coordinator's next start.
    """
    names.project(project)

    def work(tx: Tx) -> RemoteControlView:
        tx.about(project)
        remote_control_of(tx, project)
        changed = q.set_remote_control(tx, project=project, to=to)
        tx.note(remote_control=to)
        return RemoteControlView(project=project, remote_control=to, changed=changed == 1)

    return Change(f"remote control of {project}: {to}", work, returns=RemoteControlView)


def remote_control_of(rows: Rows, project: str) -> RemoteControlView:
    """Return a project's remote control; its field `remote_control` is "up", "down", or None when nobody set it.

    Raise NoSuchProject when there is no such project.
    """
    row = q.remote_control_of(rows, project=names.project(project))
    if row is None:
        raise errors.NoSuchProject(project=project)
    return RemoteControlView(project=project, remote_control=row.remote_control)


def is_off_for_all(context: Request) -> bool:
    """Return whether the home's config.toml turns remote control off for all projects."""
    return context.settings().remote_control == "down"


def is_on(context: Request, project: str) -> bool:
    """Return whether a coordinator of the project that starts now may be controlled from another device."""
    said = context.store.read(lambda rows: remote_control_of(rows, project)).remote_control
    return said == "up" and not is_off_for_all(context)


def controlled_projects(context: Request) -> list[str]:
    """Return the projects whose coordinator may be controlled from another device; [] when that is off for all."""
    return [] if is_off_for_all(context) else [row.project for row in context.store.read(q.remote_controlled)]


def turn_up_if_unset(context: Context, project: str) -> list[str]:
    """Turn a project's remote control on before its coordinator starts.

    Do nothing when somebody has set it, to up or down, or when it is off for all projects. When it could not be turned
    on, the error is not raised but returned as a warning; else [] is returned.
    """
    if is_off_for_all(context):
        return []
    if context.store.read(lambda rows: remote_control_of(rows, project)).remote_control is not None:
        return []
    try:
        context.commit(set_remote_control(project=project, to="up"))
    except errors.FleetError as error:
        return [f"remote control was not turned on ({error}); `fleet rc up {project}` does it later"]
    return []
