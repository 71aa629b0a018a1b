"""Show a running merge: the output of its verify command so far, else that of its setup command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.store import queries as q
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch
    from fleet.verbs.context import Context

_MERGING = "merging; neither setup nor verify has printed anything yet\n"


def running_output(context: Context, row: Dispatch) -> str:
    """Return what the verify or setup command of an unfinished finisher has printed so far, or that neither has.

    When tasks are merged together, only the first one's finisher has the output; it is returned for the others too.
    """
    rows = context.store.read(lambda snapshot: q.listed_dispatches(snapshot, project=row.project, ended=0))
    together = [each.id for each in rows if each.kind == "finisher" and each.process == row.process]
    for about in ("verify", "setup"):
        for ident in dict.fromkeys([row.id, *together]):
            text = _read_log(context, paths.log(ident, about))
            if text:
                return text
    return _MERGING


def _read_log(context: Context, name: str) -> str:
    """Return the text of a finisher's log file; "" when there is none."""
    try:
        return context.world.files.read(name).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
