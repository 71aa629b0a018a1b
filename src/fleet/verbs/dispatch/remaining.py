"""Remains: who is left of a dispatch whose agent may be dead, by more than one proof.

A process is the dispatch's when it carries its mark, is in the session that the agent led, was seen as its descendant while it lived,
or is in its control group; and so is whoever descends from such a one. Only those may be killed.

Where the agent is known to have been in its control group, everybody else is not the dispatch's. Where it is not, a process that
began since, is no person's, and works in the worktree may be the agent's too: it is not killed, but the worktree is not handed on
beside it, until a person says that it is not the agent's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.model.dispatch.claim import Claim
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

_WORDS = 60
_LOOKS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """Who is left: proven to be the dispatch's, deepest first; in its worktree, of whom that is not known; and unreadable."""

    ours: list[Identity]
    strangers: list[int]
    unreadable: list[int]


def describe_processes(context: Context, pids: Iterable[int]) -> str:
    """Processes for people: pid and command."""
    command = context.world.processes.command
    return ", ".join(f"process {pid} ({command(pid)[:_WORDS] or 'unknown'})" for pid in pids)


def way_out(ident: str, pids: Iterable[int]) -> str:
    """What a person can do about processes that keep a worktree."""
    options = " ".join(f"--not-ours {pid}" for pid in pids)
    return f"end it, or if it is a person's and not the agent's: `fleet dispatches settle {ident} {options}`"


def find_remains(context: Context, row: Dispatch, census: Census | None = None) -> Remains:
    """Who is left. For a decision take no census that is older than the proof of the agent's death."""
    groups = _cgroup_claims(context, row)
    for _ in range(_LOOKS):
        census = census or context.world.processes.census()
        remains = _remains_in_census(context, row, groups, census)
        if remains.ours or all(pid in census.entries for pid in _pids_in_cgroups(context, groups)):
            break
        census = None  # somebody was forked meanwhile
    return remains


def _remains_in_census(context: Context, row: Dispatch, groups: list[Claim], census: Census) -> Remains:
    process = _process_of_this_boot(context, row)
    pids = _proven_pids(context, row, process, groups, census)
    ours = [census.identity(pid) for pid in pids]
    alive = [who for who in ours if context.world.processes.life(who) == "alive"]
    if process is None or row.slug is None or row.kind == "finisher" or _is_confined(context, process, groups):
        return Remains(ours=alive, strangers=[], unreadable=[])
    tree = f"{context.world.home}/{paths.worktree(row.project, row.slug)}"
    inside, closed = census.working_in(tree, since=process, server=Identity.parse(row.server or ""))
    known = {*pids, *(excused_pids(context, row, census) if inside else ())}
    return Remains(ours=alive, strangers=[pid for pid in inside if pid not in known], unreadable=closed)


def _is_confined(context: Context, process: Identity, groups: list[Claim]) -> bool:
    """Whether the agent was in its control group before it began, and that group would be seen from here.

    Only who writes into cgroup.procs, or asks a service to start something, gets a process out of it; that is not looked for.
    """
    view = context.world.cgroups.view()
    return any(claim.data.get("joined") == str(process) and claim.data.get("view") == view for claim in groups)


def excuse_reason(ident: str) -> str:
    """Why a transaction is made in which a person says that processes are not a dispatch's. They are found by it."""
    return f"excuse processes in the worktree of {ident}"


def excused_pids(context: Context, row: Dispatch, census: Census) -> list[int]:
    """Processes of which a person has said that they are not the dispatch's, and whoever descends from them."""
    operations = context.store.read(lambda rows: q.operations_by_why(rows, dispatch=row.id, why=excuse_reason(row.id)))
    whom = [Identity.parse(text) for each in operations for text in json.loads(each.what).get("not_ours", [])]
    return census.with_descendants(who.pid for who in whom if who is not None and census.has(who))


def _process_of_this_boot(context: Context, row: Dispatch) -> Identity | None:
    """The agent's process; None when it was never launched, or in another boot or room: there nobody of it is left."""
    process = Identity.parse(row.process or "")
    return process if process is not None and process.boot == context.world.host.boot else None


def _proven_pids(
    context: Context, row: Dispatch, process: Identity | None, groups: list[Claim], census: Census
) -> list[int]:
    proven = census.marked(row.id)
    if process is not None:
        proven |= census.in_session(process) if row.kind != "finisher" else set()
        proven |= {who.pid for who in _recorded_descendants(row) if census.has(who)}
        proven |= {pid for pid in _pids_in_cgroups(context, groups) if pid in census.entries}
        proven |= {process.pid} if census.has(process) else set()
    return [
        pid
        for pid in census.with_descendants(proven)
        if pid != context.world.processes.me().pid and not census.is_fleets(pid)
    ]


def _recorded_descendants(row: Dispatch) -> list[Identity]:
    whom = (Identity.parse(each) for each in json.loads(row.descendants or "[]"))
    return [who for who in whom if who is not None]


def _cgroup_claims(context: Context, row: Dispatch) -> list[Claim]:
    """The control groups that a dispatch holds: one, where the system has it."""
    claims = context.store.read(lambda rows: q.claims_of_dispatch(rows, dispatch=row.id))
    return [Claim.of(each) for each in claims if each.kind == "cgroup" and each.state != "released"]


def _pids_in_cgroups(context: Context, groups: list[Claim]) -> list[int]:
    return [pid for claim in groups for pid in context.world.cgroups.members(claim.name)]


def record_descendants(context: Context, row: Dispatch, census: Census | None = None, *, lasting: float = 0) -> None:
    """Write down the descendants of a living agent that neither mark nor session would prove to be its own later.

    Lasting: only those that have lived for so many seconds. Whoever looks all the time need not write down each short command.
    """
    process = _process_of_this_boot(context, row)
    if process is None or row.kind == "finisher" or context.world.processes.life(process) != "alive":
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


def _change_descendants(row: Dispatch, whom: list[Identity]) -> Change[int]:
    texts = sorted({str(who) for who in whom})

    def work(tx: Tx) -> int:
        tx.about(row.project, row.slug)
        tx.dispatch = row.id
        tx.note(descendants=texts)
        return q.note_descendants(tx, id=row.id, descendants=json.dumps(texts))

    return Change(f"note the descendants of {row.id}", work)
