"""Write coord-state.json of each project from the store. The files are for other programs; fleet never reads them as facts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from fleet.model.results.value import Value
from fleet.store import queries as q
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Context


# incomplete: what the store has is missing in the file; wrong: the file has something else than the store, such as an agent that is gone.
Stale = Literal["incomplete", "wrong"]


class CoordState(Value):
    """The content of a project's coord-state.json: its coordinator, and the running agent of each task, by slug."""

    coordinator: str | None  # the seat's holder
    supervisor: dict[str, SupervisorEntry]
    worker_agent_ids: dict[str, str]


class SupervisorEntry(Value):
    """The agent that works on one task, and its kind."""

    agent_id: str
    kind: str


def reconcile_coord_state(context: Context, *, write: bool) -> dict[str, Stale]:
    """Return which projects' coord-state.json is out of date, and how; with `write`, rewrite these files."""
    stale: dict[str, Stale] = {}
    for project, state in context.store.read(_states_by_project).items():
        name = paths.coord_state(project)
        written, wanted = _read_state(context, name), json.loads(json.dumps(state, default=Value.as_json))
        # A project without coordinator and agents needs no file.
        if written == wanted or (written is None and not any(wanted.values())):
            continue
        stale[project] = "incomplete" if _is_part_of(written, wanted) else "wrong"
        if write:
            context.world.files.publish(name, json.dumps(wanted, indent=2).encode())
    return stale


def _is_part_of(written: object, wanted: object) -> bool:
    """Return whether the written document has nothing that the wanted one does not have; entries may be missing."""
    if isinstance(written, dict) and isinstance(wanted, dict):
        return all(name in wanted and _is_part_of(value, wanted[name]) for name, value in written.items())
    return written is None or written == wanted


def _states_by_project(rows: Rows) -> dict[str, CoordState]:
    """Return what each project's coord-state.json should contain."""
    seats = {row.project: row.holder for row in q.all_seats(rows)}
    names = [row.name for row in q.all_projects(rows)]
    states = {name: CoordState(coordinator=seats.get(name), supervisor={}, worker_agent_ids={}) for name in names}
    for row in q.listed_dispatches(rows, project=None, ended=0):
        if row.slug is not None:
            entry = SupervisorEntry(agent_id=row.id, kind=row.kind)
            states[row.project].supervisor[row.slug] = entry
            states[row.project].worker_agent_ids[row.slug] = row.id
    return states


def _read_state(context: Context, name: str) -> object:
    """Return the parsed content of a coord-state.json; None when there is no file, "unreadable" when it cannot be parsed."""
    try:
        return json.loads(context.world.files.read(name))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return "unreadable"
