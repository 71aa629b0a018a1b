"""Excuse processes: a person says that they are not the agent's, although they work in its worktree or carry its id.

fleet does not kill an excused process, and settles the dispatch even while that process lives. Each process is recorded
with its start time, so that a later process with the same pid is not excused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.results.dispatches import Excused
from fleet.store.transaction import Change
from fleet.verbs.dispatch import leftover_processes
from fleet.verbs.homes.ownership import refuse_foreign
from fleet.world.process import ps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.store.queries import Dispatch
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.world.process.census import Census


def excuse(context: Context, ident: str, pids: Sequence[int]) -> Excused:
    """Record that these processes (pids) do not belong to a dispatch, which they keep from being settled.

    Returns the newly excused processes. Raises NotExcused, and records none, if one of them cannot be excused.
    """
    row = context.dispatch(ident)
    refuse_foreign(context, f"dispatch {ident}", row)
    census = context.world.processes.census()
    excused = leftover_processes.excused_pids(context, row, census)
    remains = leftover_processes.find_remains(context, row, census)
    new = [pid for pid in dict.fromkeys(pids) if pid not in excused]
    for pid in new:
        why = _why_not_excusable(row, pid, remains, census)
        if why:
            raise errors.NotExcused(pid=pid, dispatch=ident, why=why)
    whom = {str(census.identity(pid)): ps.command(pid) for pid in new}
    return context.commit(_record_excuse(row, whom)) if whom else Excused(id=ident, not_ours=[])


def _why_not_excusable(row: Dispatch, pid: int, remains: leftover_processes.LeftoverProcesses, census: Census) -> str:
    """Return why a process cannot be excused for a dispatch; "" when it can.

    Only a process that keeps the dispatch from being settled, and is not proven to be its own, can be excused.
    """
    if not is_unfinished(row):
        return f"{row.id} has ended already: {row.exec_state}"
    if pid not in census.entries:
        return "no such process is alive"
    if any(who.pid == pid for who in remains.ours):
        return f"it is proven to be of {row.id}"
    return "" if pid in {*remains.strangers, *remains.bearers} else "it does not block the worktree"


def _record_excuse(row: Dispatch, whom: dict[str, str]) -> Change[Excused]:
    """Return the change that records the excused processes, with their commands, in the operation log.

    `whom` maps each process to its command.
    """

    def work(tx: Tx) -> Excused:
        tx.about(row.project, row.slug)
        tx.dispatch = row.id
        tx.note(not_ours=list(whom), commands=list(whom.values()))
        return Excused(id=row.id, not_ours=list(whom))

    return Change(leftover_processes.excuse_reason(row.id), work, *whom, returns=Excused)
