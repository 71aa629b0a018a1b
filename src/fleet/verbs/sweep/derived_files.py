"""Reconcile what is derived: coord-state.json, computed from the store and never believed over it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fleet.model.results.value import Value
from fleet.store import queries as q
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Context


class CoordState(Value):
    """What coord-state.json says of a project: its coordinator, and the agent at work on each task."""

    supervisor: str | None
    worker_agent_ids: dict[str, str]


def reconcile_coord_state(context: Context, *, write: bool) -> dict[str, bool]:
    """Each project, and whether its projection was stale."""
    stale = {}
    for project, state in context.store.read(_states_by_project).items():
        name = paths.coord_state(project)
        now, wanted = _read_state(context, name), state.as_json()
        # A project that nobody has worked in yet needs no file.
        stale[project] = now != wanted and (any(wanted.values()) or now is not None)
        if stale[project] and write:
            context.world.files.publish(name, json.dumps(wanted, indent=2).encode())
    return stale


def _states_by_project(rows: Rows) -> dict[str, CoordState]:
    seats = {row.project: row.holder for row in q.all_seats(rows)}
    names = [row.name for row in q.all_projects(rows)]
    states = {name: CoordState(supervisor=seats.get(name), worker_agent_ids={}) for name in names}
    for row in q.listed_dispatches(rows, project=None, ended=0):
        if row.slug is not None:
            states[row.project].worker_agent_ids[row.slug] = row.id
    return states


def _read_state(context: Context, name: str) -> object:
    try:
        return json.loads(context.world.files.read(name))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return "unreadable"
