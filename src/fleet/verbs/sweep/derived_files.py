"""Reconcile what is derived: coord-state.json, computed from the store and never believed over it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fleet.store import queries as q
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Context


def reconcile(context: Context, *, write: bool) -> dict[str, bool]:
    """Each project, and whether its projection was stale."""
    wanted = context.store.read(_projections)
    found = {}
    for project, state in wanted.items():
        name = paths.coord_state(project)
        found[project] = _now(context, name) != state and (
            bool(state["worker_agent_ids"]) or state["supervisor"] or _exists(context, name)
        )
        if found[project] and write:
            context.world.files.publish(name, json.dumps(state, indent=2).encode())
    return {project: bool(stale) for project, stale in found.items()}


def _projections(rows: Rows) -> dict[str, dict[str, Any]]:
    seats = {row.project: row.holder for row in q.all_seats(rows)}
    states: dict[str, dict[str, Any]] = {
        row.name: {"supervisor": seats.get(row.name), "worker_agent_ids": {}} for row in q.all_projects(rows)
    }
    for row in q.listed_dispatches(rows, project=None, ended=0):
        if row.slug is not None:
            states[row.project]["worker_agent_ids"][row.slug] = row.id
    return states


def _exists(context: Context, name: str) -> bool:
    return _now(context, name) is not None


def _now(context: Context, name: str) -> object:
    try:
        return json.loads(context.world.files.read(name))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return "unreadable"
