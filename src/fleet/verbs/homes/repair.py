"""Show the fleet home, and repair a home that was moved to another path.

A repair changes the worktrees in git, then the store, then home.json, so that a repair that was killed can be run
again. Nothing is changed while anything may still run at the old path.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fleet import errors
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.identity import Identity
from fleet.model.results.home import HomeView, OtherHome, Repair
from fleet.model.text import jsontext
from fleet.records import replace
from fleet.resources.worktree.worktree import GATE_WAIT
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.homes.ownership import disown_hint
from fleet.verbs.jobs.abandoned import ALL_JOBS, has_runner
from fleet.world.git.worktrees.remove import repair_worktree
from fleet.world.home import home_change, paths
from fleet.world.home.tmux_socket import socket_path

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context

# The folders of a project in the home that have worktrees.
_FOLDERS = (paths.WORKTREES, paths.MERGES)


def home_view(context: Context) -> HomeView:
    """Return what home.json records, where the home is now, and which other homes use its database."""
    record, here = context.world.record, _current_path(context)
    others = context.store.read(lambda rows: q.other_homes(rows, id=record.id))
    return HomeView(
        id=record.id,
        host=record.host,
        machine=record.machine,
        path=record.path,
        database=record.database,
        here=here,
        machine_now=context.world.host.machine_id,
        moved=record.path != here,
        others=[OtherHome.made_of(row) for row in others],
    )


def plan_repair(context: Context, moved: errors.FleetError | None) -> Repair:
    """Return what a repair would change. `moved` is the error about the home's new path; None when it was not moved.

    Raises Refused when the home was not moved, or something may still run at its old path; `moved` itself when it says
    that the home is a copy.
    """
    if moved is None:
        raise errors.Refused(what=f"the fleet home {context.world.home} was not moved; nothing is to be repaired")
    if not isinstance(moved, errors.HomeMoved):
        raise moved
    living = _what_may_live(context)
    if living:
        raise errors.Refused(
            what=f"the fleet home is not repaired while something of {context.world.record.path} may live: "
            f"{'; '.join(living)}; move the home back and end it there, then move it again"
        )
    trees, lost = _find_worktrees(context)
    claims = [str(old) for old, _new in _claim_moves(context)]
    return Repair(path=_current_path(context), was=context.world.record.path, worktrees=[path for path, _ in trees],
                  claims=claims, left=lost, repaired=False)  # fmt: skip


def repair(context: Context, moved: errors.FleetError | None) -> Repair:
    """Repair a home that was moved, as `plan_repair` describes. Return what was done.

    `moved` is the error that says that the home was moved or copied, None when it was neither.
    """
    planned = plan_repair(context, moved)
    left = [*planned.left, *_repair_worktrees(context)]
    context.commit(_record_move(context))
    home_change.change(context.world.home, context.world.funnel, path=_current_path(context))
    return planned.replaced(left=left, repaired=True)


def _current_path(context: Context) -> str:
    """Return the real path of the home now."""
    return os.path.realpath(context.world.home)


# what may run ---------------------------------------------------------------------------------------------------------
def _what_may_live(context: Context) -> list[str]:
    """Return, for people, what may still run at the home's old path; [] when nothing may.

    These are processes, tmux sessions, dispatches, runners of jobs and effects under way.
    """
    world = context.world
    running = [f"process {who.pid}" for who in world.processes.of_home(world.record.path)]
    listing = world.tmux.listing()
    running += [f"tmux session {pane.session}" for pane in listing.panes if not pane.dead]
    rows = context.store.read(lambda snapshot: q.listed_dispatches(snapshot, project=None, ended=0))
    running += [why for row in rows if _was_own(context, row) and (why := _why_alive_at_old_path(context, row))]
    jobs = context.store.read(lambda snapshot: q.unfinished_jobs(snapshot, most=ALL_JOBS))
    own = [row for row in jobs if row.home in {None, world.record.id} and row.state == "running"]
    running += [f"the runner of job {row.id}" for row in own if has_runner(context, row.id)]
    locks = [name.removesuffix(".lock") for name in world.files.names(paths.EFFECT_LOCKS)]
    return running + [
        f"a process that makes or releases claim {claim}" for claim in locks if not world.effect_lock(claim).is_free()
    ]


def _was_own(context: Context, row: Dispatch) -> bool:
    """Return whether this home made the dispatch, before or after the move."""
    if row.home is not None:
        return row.home == context.world.record.id
    return row.host == context.world.host.id and row.tmux_socket == socket_path(context.world.record.path)


def _why_alive_at_old_path(context: Context, row: Dispatch) -> str:
    """Return why an unfinished dispatch may be alive at the home's old path; "" when it has ended or is proven dead."""
    who = Identity.parse(row.process or row.spawner or "")
    life = context.world.processes.life(who) if who is not None else "dead"
    if not is_unfinished(row) or life == "dead":
        return ""
    return f"dispatch {row.id} is {life}" + (f" ({disown_hint(row.id)})" if life == "unknown" else "")


# git ------------------------------------------------------------------------------------------------------------------
def _find_worktrees(context: Context) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the home's worktrees, each as (path, repository), and a line for each worktree of an unregistered project."""
    known = {row.name: row.path for row in context.store.read(q.all_projects)}
    files, trees, lost = context.world.files, [], []
    for project in files.names(paths.PROJECTS):
        for folder in _FOLDERS:
            for name in files.names(paths.project_folder(project, folder)):
                path = f"{_current_path(context)}/{paths.project_folder(project, folder)}/{name}"
                if project in known:
                    trees.append((path, known[project]))
                else:
                    lost.append(f"{path}: its project is not registered")
    return trees, lost


def _repair_worktrees(context: Context) -> list[str]:
    """Tell git the new path of each worktree. Returns a line for people for each worktree that git refused.

    A refused worktree stays as it is.
    """
    left = []
    for path, repository in _find_worktrees(context)[0]:
        gate = context.world.git_gate(repository)
        gate.take(wait=GATE_WAIT)
        try:
            why = repair_worktree(context.world.git, repository, path)
        finally:
            gate.give()
        left += [f"{path}: {why}"] if why else []
    return left


# the store ------------------------------------------------------------------------------------------------------------
def _claim_moves(context: Context) -> list[tuple[Claim, Claim]]:
    """Return each claim that contains the home's old path, as the claim before and after the move."""
    world = context.world
    rows = context.store.read(lambda snapshot: q.claims_below(snapshot, home=world.record.id, host=world.host.id))
    pairs = ((claim, _moved_claim(context, claim)) for claim in map(Claim.of, rows))
    return [(old, new) for old, new in pairs if (old.name, old.data) != (new.name, new.data)]


def _moved_claim(context: Context, claim: Claim) -> Claim:
    """Return a claim with the home's new path in its name and data."""
    data = {name: _moved_value(context, value) for name, value in claim.data.items()}
    return replace(claim, name=_moved_value(context, claim.name), data=data)


def _moved_value(context: Context, value: Any) -> Any:  # noqa: ANN401 - as claims keep it
    """Return a path or tmux socket of the old home as that of the new home; any other value unchanged."""
    old = context.world.record.path
    if value == socket_path(old):
        return context.world.tmux.socket
    if isinstance(value, str) and value.startswith(f"{old}/"):
        return f"{_current_path(context)}{value[len(old) :]}"
    return value


def _record_move(context: Context) -> Change[None]:
    """Return the change that records the home's new path in its claims, dispatches and home row."""
    world, moves = context.world, _claim_moves(context)
    old, new = world.record.path, _current_path(context)

    def work(tx: Tx) -> None:
        for before, after in moves:
            q.move_claim(tx, id=before.id, was=before.name, name=after.name, data=jsontext.dumps(after.data), at=tx.at)
        q.move_sockets(tx, home=world.record.id, host=world.host.id, was=socket_path(old), socket=world.tmux.socket,
                       at=tx.at)  # fmt: skip
        q.see_home(tx, id=world.record.id, host=world.host.id, machine=world.host.machine_id, name=world.host.name,
                   path=new, at=tx.at)  # fmt: skip
        tx.note(was=old, path=new, claims=[str(before) for before, _after in moves])

    return Change(f"the home was moved from {old} to {new}", work)
