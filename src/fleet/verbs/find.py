"""Find the dispatch that is meant: an id, a unique prefix of one, a task's slug, or @last."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fleet.errors import Ambiguous, NoSuchDispatch
from fleet.model import names
from fleet.model.dispatches import UNFINISHED
from fleet.store import queries as q

if TYPE_CHECKING:
    from fleet.store.transaction import Row, Rows
    from fleet.verbs.ground import Ground

SHORTEST_PREFIX = 2


def find(rows: Rows, given: str, project: str | None = None) -> str:
    """The id of the dispatch that is meant. Several: they are listed."""
    if given == "@last":
        row = rows.one(q.NEWEST_DISPATCH)
        if row is None:
            raise NoSuchDispatch(dispatch=given)
        return str(row["id"])
    prefix = f"{given}%" if len(given) >= SHORTEST_PREFIX and set(given) <= set("0123456789abcdef") else "-"
    found = [row for row in rows.all(q.DISPATCHES_LIKE, prefix=prefix, slug=given) if project in {None, row["project"]}]
    exact = [row for row in found if row["id"] == given]
    if exact:
        return given
    unfinished = [row for row in found if row["exec_state"] in UNFINISHED]
    chosen = unfinished or _newest_of_one_task(found)
    if not chosen:
        raise NoSuchDispatch(dispatch=given)
    if len(chosen) > 1:
        said = ", ".join(f"{row['id']} ({row['kind']} of {row['project']}/{row['slug']})" for row in chosen)
        raise Ambiguous(given=given, candidates=said)
    return str(chosen[0]["id"])


def _newest_of_one_task(found: list[Row]) -> list[Row]:
    """Ended dispatches of one task are told apart by age: the newest is meant."""
    tasks = {(row["project"], row["slug"]) for row in found}
    return found[:1] if len(tasks) == 1 else found


def find_archived(ground: Ground, given: str) -> str | None:
    """The same among journals that were archived: the newest that fits."""
    names_by_age = sorted(
        ground.world.files.names("dispatches/archive"), key=lambda name: name.partition("-")[2], reverse=True
    )
    for name in names_by_age:
        ident = name.partition("-")[0]
        if given == "@last" or (len(given) >= SHORTEST_PREFIX and ident.startswith(given)):
            return ident
        if (archived(ground, ident) or {}).get("slug") == given:
            return ident
    return None


def archived(ground: Ground, ident: str) -> dict[str, Any] | None:
    """The journal of a dispatch that was archived."""
    if not names.is_dispatch_id(ident):
        return None
    for name in reversed(ground.world.files.names("dispatches/archive")):
        if name.startswith(f"{ident}-"):
            found: dict[str, Any] = json.loads(ground.world.files.read(f"dispatches/archive/{name}"))
            return found
    return None
