"""Remote control: whether a project's coordinator may be controlled from afar. A project's word, kept with the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors.absent import NoSuchProject
from fleet.errors.families import FleetError
from fleet.model import names
from fleet.store import queries as q
from fleet.store.transaction import Change

if TYPE_CHECKING:
    from fleet.store.transaction import Row, Rows, Tx
    from fleet.verbs.context import Context


def set_remote_control(*, project: str, to: str) -> Change[Row]:
    """Say up or down. It holds from the coordinator's next start."""
    names.project(project)

    def work(tx: Tx) -> Row:
        tx.about(project)
        look(tx, project)
        changed = q.set_remote_control(tx, project=project, to=to)
        tx.note(remote_control=to)
        return {"project": project, "remote_control": to, "changed": changed == 1}

    return Change(f"remote control of {project}: {to}", work)


def look(rows: Rows, project: str) -> Row:
    """What was said: up, down, or nothing."""
    found = q.remote_control_of(rows, project=names.project(project))
    if found is None:
        raise NoSuchProject(project=project)
    return {"project": project, "remote_control": found.remote_control}


def mark(context: Context, project: str) -> list[str]:
    """Write the marker for a coordinator that is about to start, unless somebody said otherwise. What went wrong is a warning."""
    if context.store.read(lambda rows: look(rows, project))["remote_control"] is not None:
        return []
    try:
        context.commit(set_remote_control(project=project, to="up"))
    except FleetError as error:
        return [f"remote control was not turned on ({error}); `fleet rc up {project}` does it later"]
    return []
