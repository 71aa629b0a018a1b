"""Find the remaining processes of a dispatch whose agent may be dead, by several proofs.

A process belongs to the dispatch when it carries the dispatch's mark, is in the session that the agent led, was
recorded as a descendant while the agent lived, or is in the agent's control group; so do all descendants of such a
process. Only these processes may be killed.

If the agent provably was in its control group, no other process belongs to the dispatch. If not, a process that works
in the worktree, began after the agent and was not started by a person may also belong to the dispatch. So may, always,
a process that carries the dispatch's id and names another home, or none. fleet does not kill such a stranger. But until
a person says that the process is not the agent's, fleet neither ends the dispatch nor gives the worktree to another
agent.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.steps import is_held_by_daemon
from fleet.model.identity import Identity
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.store.queries import Dispatch
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.world.process.census import Census

# How many characters of a process's command are shown.
_WORDS = 60
# How often the processes are read at most, because some were forked meanwhile.
_LOOKS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftoverProcesses:
    """The processes that a dispatch with a dead agent has left running.

    `ours`: processes that provably belong to the dispatch, deepest descendants first. The other fields are pids.
    `strangers`: processes in its worktree whose owner is unknown. `bearers`: processes that have the dispatch's id in
    their environment, but not this home's mark. `unreadable`: processes that cannot be inspected.
    """

    ours: list[Identity]
    bearers: list[int]
    strangers: list[int]
    unreadable: list[int]


def describe_processes(context: Context, pids: Iterable[int]) -> str:
    """Return processes as text for people: pid and command."""
    command = context.world.processes.command
    return ", ".join(f"process {pid} ({command(pid)[:_WORDS] or 'unknown'})" for pid in pids)


def way_out(ident: str, pids: Iterable[int]) -> str:
    """Return the sentence that tells a person what to do about processes that may belong to the dispatch `ident`."""
    options = " ".join(f"--not-ours {pid}" for pid in pids)
    return f"end it, or if it is a person's and not the agent's: `fleet dispatches settle {ident} {options}`"


def find_remains(context: Context, row: Dispatch, census: Census | None = None) -> LeftoverProcesses:
    """Return the processes that a dispatch has left running, and those in doubt: only `ours` provably belong to it.

    `census` is a list of all processes that was read before; with None, or when a process was forked since, it is read
    anew. A caller that decides something must not pass one from before the proof of the agent's death.
    """
    groups = _cgroup_claims(context, row)
    for _ in range(_LOOKS):
        census = census or context.world.processes.census()
        remains = _remains_in_census(context, row, groups, census)
        if remains.ours or all(pid in census.entries for pid in _pids_in_cgroups(context, groups)):
            break
        census = None  # a process was forked since the census was taken
    return remains


def _remains_in_census(context: Context, row: Dispatch, groups: list[Claim], census: Census) -> LeftoverProcesses:
    """Return the processes in a census (a list of all processes) that a dispatch has left running."""
    process = _process_of_this_boot(context, row)
    pids = _proven_pids(context, row, process, groups, census)
    ours = [census.identity(pid) for pid in pids]
    alive = [who for who in ours if context.world.processes.life(who) == "alive"]
    known = {*pids, context.world.daemon_pid()}
    bearers = _unexcused(context, row, census, [pid for pid in sorted(census.naming(row.id)) if pid not in known])
    if process is None or row.slug is None or row.kind == "finisher" or _is_confined(context, process, groups):
        return LeftoverProcesses(ours=alive, bearers=bearers, strangers=[], unreadable=[])
    tree = f"{context.world.home}/{paths.worktree(row.project, row.slug)}"
    inside, closed = census.working_in(tree, since=process, server=Identity.parse(row.server or ""))
    strangers = _unexcused(context, row, census, [pid for pid in inside if pid not in {*pids, *bearers}])
    return LeftoverProcesses(ours=alive, bearers=bearers, strangers=strangers, unreadable=closed)


def _unexcused(context: Context, row: Dispatch, census: Census, pids: list[int]) -> list[int]:
    """Return the given pids without those that a person has declared not to belong to the dispatch."""
    excused = excused_pids(context, row, census) if pids else []
    return [pid for pid in pids if pid not in excused]


def _is_confined(context: Context, process: Identity, groups: list[Claim]) -> bool:
    """Return whether all processes of the agent are certainly in its control group.

    True when the agent joined the group before its program began, and this process can see that group. Does not notice
    a process that has left the group, by writing into cgroup.procs or through a service.
    """
    view = context.world.cgroups.view()
    return any(claim.data.get("joined") == str(process) and claim.data.get("view") == view for claim in groups)


def excuse_reason(ident: str) -> str:
    """Return the reason (`why`) of the operation by which a person declares that processes are not the dispatch's.

    Queries find these operations by this text.
    """
    return f"excuse processes in the worktree of {ident}"


def excused_pids(context: Context, row: Dispatch, census: Census) -> list[int]:
    """Return the pids that a person has declared not to belong to the dispatch, with their descendants."""
    operations = context.store.read(lambda rows: q.operations_by_why(rows, dispatch=row.id, why=excuse_reason(row.id)))
    excused = [
        Identity.parse(text) for operation in operations for text in json.loads(operation.what).get("not_ours", [])
    ]
    return census.with_descendants(who.pid for who in excused if who is not None and census.has(who))


def _process_of_this_boot(context: Context, row: Dispatch) -> Identity | None:
    """Return the agent's process; None when it was never launched, or was launched before the last boot."""
    process = Identity.parse(row.process or "")
    return process if process is not None and process.boot == context.world.host.boot else None


def _proven_pids(
    context: Context, row: Dispatch, process: Identity | None, groups: list[Claim], census: Census
) -> list[int]:
    """Return the pids that provably belong to the dispatch, with their descendants, without fleet's own processes."""
    proven = census.marked(row.id)
    if process is not None and not is_held_by_daemon(row):
        proven |= census.in_session(process) if row.kind != "finisher" else set()
        proven |= {who.pid for who in _recorded_descendants(row) if census.has(who)}
        proven |= {pid for pid in _pids_in_cgroups(context, groups) if pid in census.entries}
        proven |= {process.pid} if census.has(process) else set()
    spared = {context.world.processes.me().pid, context.world.daemon_pid()}
    return [pid for pid in census.with_descendants(proven - spared) if pid not in spared and not census.is_fleets(pid)]


def _recorded_descendants(row: Dispatch) -> list[Identity]:
    """Return the agent's descendants that were recorded while the agent lived."""
    descendants = (Identity.parse(text) for text in json.loads(row.descendants or "[]"))
    return [who for who in descendants if who is not None]


def _cgroup_claims(context: Context, row: Dispatch) -> list[Claim]:
    """Return the dispatch's unreleased claims on control groups; an empty list where there are no control groups."""
    claims = context.store.read(lambda rows: q.claims_of_dispatch(rows, dispatch=row.id))
    return [claim for claim in map(Claim.of, claims) if claim.kind == "cgroup" and not claim.is_released]


def _pids_in_cgroups(context: Context, groups: list[Claim]) -> list[int]:
    """Return the pids that are in the control groups of these claims now."""
    return [pid for claim in groups for pid in context.world.cgroups.members(claim.name)]


def record_descendants(context: Context, row: Dispatch, census: Census | None = None, *, lasting: float = 0) -> None:
    """Record the descendants of a living agent, except those that have both its mark and its session.

    After the agent's death, the record proves that such a process belongs to the dispatch. Processes younger than
    `lasting` seconds are not recorded, so that frequent callers skip short commands. Does nothing when the agent is not
    alive.
    """
    process = _process_of_this_boot(context, row)
    if (
        process is None
        or row.kind == "finisher"
        or is_held_by_daemon(row)
        or context.world.processes.life(process) != "alive"
    ):
        return
    census = census or context.world.processes.census()
    hidden = [
        census.identity(pid)
        for pid in _proven_pids(context, row, process, _cgroup_claims(context, row), census)
        if pid != process.pid
        and census.age(pid) >= lasting
        and (census.entries[pid].session != process.pid or census.mark(pid) != row.id)
    ]
    known = _recorded_descendants(row)
    if any(who not in known for who in hidden):
        context.commit(_change_descendants(row, [*hidden, *(who for who in known if census.has(who))]))


def _change_descendants(row: Dispatch, descendants: list[Identity]) -> Change[int]:
    """Return the change that stores these processes as the agent's recorded descendants."""
    texts = sorted({str(who) for who in descendants})

    def work(tx: Tx) -> int:
        tx.about(row.project, row.slug)
        tx.dispatch = row.id
        tx.note(descendants=texts)
        return q.note_descendants(tx, id=row.id, descendants=json.dumps(texts))

    return Change(f"note the descendants of {row.id}", work)
