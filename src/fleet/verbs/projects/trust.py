"""Trust: a person says that what a repository's settings run and free is as they want it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fleet.model.settings import trust as rules
from fleet.model.settings.table import PROJECT_FILE
from fleet.model.text.times import iso
from fleet.store.transaction import Change
from fleet.world.home import paths
from fleet.world.home.settings import settings_of
from fleet.world.home.trust import trusted_values

if TYPE_CHECKING:
    from fleet.store.transaction import Row, Tx
    from fleet.verbs.context import Context


def pending(context: Context, project: str) -> dict[str, Any]:
    """What waits for a person's trust. The values are those that `trust` takes: what was seen is what is trusted."""
    path = context.project(project).path
    written = settings_of(context.world.home, path)
    said = rules.said(written)
    known = trusted_values(context.world.home, project, path)
    waiting = [] if written["trust"].value == "always" else rules.differences(said, known)
    head = {"project": project, "file": f"{path}/{PROJECT_FILE}", "hash": rules.fingerprint(said)}
    return head | {"changes": [each.as_document() for each in waiting], "values": said}


def trust(context: Context, project: str, values: dict[str, Any]) -> dict[str, Any]:
    """Write down that these values are trusted. The operation names the settings and the hash, not the values."""
    path = context.project(project).path
    before = trusted_values(context.world.home, project, path)
    mark = rules.fingerprint(values)
    if before == values:
        return {"project": project, "hash": mark, "changed": False}
    kept = {"repository": path, "hash": mark, "at": iso(context.world.clock.now()), "values": values}
    context.world.files.publish(paths.trust(project), json.dumps(kept, indent=1).encode())
    context.commit(
        _note(project, mark, sorted(name for name in {*before, *values} if before.get(name) != values.get(name)))
    )
    return {"project": project, "hash": mark, "changed": True}


def trust_written(context: Context, project: str, wanted: dict[str, str]) -> dict[str, Any]:
    """Trust what a person has just chosen, beside what was trusted before."""
    path = context.project(project).path
    return trust(context, project, trusted_values(context.world.home, project, path) | wanted)


def _note(project: str, mark: str, names: list[str]) -> Change[Row]:
    def work(tx: Tx) -> Row:
        tx.about(project)
        tx.note(trusted=names, hash=mark)
        return {"trusted": names}

    return Change(f"trust {', '.join(names)} of {project}", work, mark)
