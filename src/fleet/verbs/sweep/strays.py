"""Sweep strays: tmux sessions, processes, control groups and files without a claim, or whose dispatch has ended.

Every function here acts only with `acts`; without it, its findings say what it would do.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import names
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.results.home import Swept
from fleet.model.text.times import HOUR
from fleet.resources import KINDS
from fleet.store import queries as q
from fleet.store import sqlite_setup
from fleet.verbs.agents.prompts import finish_rewrite
from fleet.verbs.dispatch.acquire import release
from fleet.verbs.dispatch.journal import archived_dispatch, dispatch_or_none
from fleet.verbs.dispatch.leftover_processes import describe_processes
from fleet.verbs.homes.ownership import is_own
from fleet.verbs.sweep.finding import act_on
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.model.identity import Identity
    from fleet.verbs.context import Context
    from fleet.world.tmux import Listing, Pane

_INBOX = re.compile(r"([0-9a-f]{8})\.md")
# How long after the end of its dispatch a prompt file is late.
_LATE = 168 * HOUR


def sweep_sessions(context: Context, listing: Listing, *, acts: bool) -> Iterator[Swept]:
    """Kill panes of ended dispatches; without `acts`, only report them.

    Sessions with fleet's name or mark that belong to no known dispatch are reported, never killed.
    """
    held = {row.name for row in context.store.read(q.open_claims)}
    ours = {pane.session for pane in listing.panes if pane.home == context.world.tmux.home_id}
    for pane in listing.panes:
        what = f"tmux session {pane.session}"
        if pane.home != context.world.tmux.home_id:
            if names.is_session(pane.session) and pane.session not in ours:
                yield Swept(what=what, why="it has our name but not our mark", proof=f"its mark is {pane.home or 'missing'}",
                            action="listed only", standing=True)  # fmt: skip
            continue
        row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=pane.dispatch))  # noqa: B023
        what = f"the pane of dispatch {pane.dispatch} in tmux session {pane.session}" if pane.stamped else what
        if row is not None and (is_unfinished(row) or names.session(pane.dispatch) in held):
            continue  # the session is released with its dispatch's claim
        if row is None and archived_dispatch(context, pane.dispatch) is None:
            yield Swept(what=what, why="it has our mark, but its dispatch is neither in the database nor archived",
                        proof="was a backup restored?", action="listed only", standing=True)  # fmt: skip
            continue
        proof = f"dispatch {pane.dispatch} is {'in the archive' if row is None else row.exec_state}"
        yield act_on(what, "its dispatch has ended", proof, "kill it", acts,
                     lambda: _kill_pane(context, pane, listing))  # fmt: skip # noqa: B023


def _kill_pane(context: Context, pane: Pane, seen: Listing) -> bool:
    """Kill a pane. Return whether the pane is gone, also when another process killed it first."""
    if context.world.tmux.kill(pane):
        return True
    listing = context.world.tmux.listing()
    if listing.server is None:  # a tmux server exits with its last session
        return context.world.processes.life(seen.server) == "dead"
    return listing.pane_of(pane.dispatch) is None


def sweep_processes(context: Context, *, acts: bool) -> Iterator[Swept]:
    """Kill processes that carry the id of an ended dispatch; without `acts`, only report them.

    When fleet never launched that dispatch, they are reported, never killed.
    """
    for ident, marked in context.world.processes.marks().items():
        row = dispatch_or_none(context, ident)
        if row is None or is_unfinished(row):
            continue
        for who in _besides_daemon(context, marked):
            if row.process is None:
                yield Swept(what=f"process {who.pid}", why=f"its dispatch {ident} has ended, and fleet never launched it",
                            proof="it carries its id in its environment", action="listed only", standing=True)  # fmt: skip
                continue
            yield act_on(f"process {who.pid}", f"its dispatch {ident} has ended", "it carries its id in its environment",
                         "kill it", acts, lambda: context.world.processes.kill_all([who]))  # fmt: skip # noqa: B023


def _besides_daemon(context: Context, marked: list[Identity]) -> list[Identity]:
    """Return these processes without the daemon's: an agent may have started the daemon, which then has the agent's mark."""
    return [who for who in marked if who.pid != context.world.daemon_pid()]


def sweep_cgroups(context: Context, *, acts: bool) -> Iterator[Swept]:
    """Remove empty control groups of this home that have no claim; without `acts`, only report them.

    A group that has processes is reported, never removed.
    """
    # List groups before reading the claims: a claim is recorded before its group is made.
    groups = context.world.cgroups.all_of_home(context.world.processes.me().pid)
    held = {row.name for row in context.store.read(q.open_claims)}
    for path in (group for group in groups if group not in held):
        members = context.world.cgroups.members(path)
        if members:
            yield Swept(what=path, why="no claim names it", proof=f"its processes: {describe_processes(context, members)}",
                        action="listed only", standing=True)  # fmt: skip
        else:
            yield act_on(path, "no claim names it", "it has no processes", "remove it", acts,
                         lambda: context.world.cgroups.remove(path))  # fmt: skip # noqa: B023


def sweep_files(context: Context, *, acts: bool) -> Iterator[Swept]:
    """Report prompts and worktrees that have no claim; they are never deleted.

    With `acts`, also delete fleet's own leftover files, without a finding.
    """
    if acts:
        _remove_leftover_files(context)
    held = {row.name for row in context.store.read(q.open_claims)}
    for name in context.world.files.names(paths.INBOX):
        if _INBOX.fullmatch(name) and f"{paths.INBOX}/{name}" not in held:
            yield Swept(what=f"{paths.INBOX}/{name}", why="no claim names it", proof="looked up in the store",
                        action="listed only", standing=True)  # fmt: skip
    for project in context.world.files.names(paths.PROJECTS):
        trees = [
            f"{context.world.home}/{paths.project_folder(project, folder)}/{name}"
            for folder in (paths.WORKTREES, paths.MERGES)
            for name in context.world.files.names(paths.project_folder(project, folder))
        ]
        for path in trees:
            if path not in held:
                yield Swept(what=path, why="no claim names it", proof="looked up in the store",
                            action="listed only", standing=True)  # fmt: skip


def _remove_leftover_files(context: Context) -> None:
    """Delete locks of closed claims, half-written files of dead writers, and temporary links.

    The locks are listed before the claims are read, because a new claim is recorded before its lock is made.
    """
    files = context.world.files
    locks = files.names(paths.EFFECT_LOCKS)
    known = {row.id for row in context.store.read(q.open_claims)}
    for ident in (name.removesuffix(".lock") for name in locks):
        if ident not in known and context.world.effect_lock(ident).is_free():
            context.world.forget_effect_lock(ident)
    for path in files.abandoned():
        files.discard_abandoned(path)
    sqlite_setup.sweep_backups(context.world.home, context.world.funnel)
    _remove_leftover_links(context)


def _remove_leftover_links(context: Context) -> None:
    """Delete temporary links to the fleet program that a killed process left, unless another process is replacing the link now."""
    links = [name for name in context.world.files.names(paths.LOCKS) if name.startswith("fleet.")]
    if not links:
        return
    try:
        with context.world.gate("bin"):
            for name in links:
                if os.path.islink(f"{context.world.home}/{paths.LOCKS}/{name}"):
                    context.world.files.unlink(f"{paths.LOCKS}/{name}")
    except errors.GateHeld:
        return


def sweep_rewrites(context: Context, *, acts: bool) -> Iterator[Swept]:
    """Write the new content of prompt files that were handed over by a process that died before it wrote the content.

    Without `acts`, only report them.
    """
    for row in context.store.read(q.unfinished_rewrites):
        claim = Claim.of(row)
        if not is_own(context, claim):
            continue
        yield act_on(f"{claim}", f"it was handed over to {claim.dispatch} and not rewritten", "its claim carries the content",
                     "rewrite it", acts, lambda: finish_rewrite(context, claim))  # fmt: skip # noqa: B023


def sweep_late_inboxes(context: Context, *, acts: bool) -> Iterator[Swept]:
    """Release the prompt files that still exist a week after their dispatch ended; without `acts`, only report them."""
    before = context.world.clock.now() - _LATE
    for row in context.store.read(lambda rows: q.late_inboxes(rows, before=before)):
        claim = Claim.of(row)
        if is_own(context, claim) and KINDS[claim.kind].look(claim, context.world) == "ours":
            why = f"it is still ours {_LATE // HOUR} h after its dispatch {claim.dispatch} ended"
            yield act_on(str(claim), why, "its claim names it, and it is there", "release it", acts,
                         lambda: [*filter(None, [release(context, claim)])])  # fmt: skip # noqa: B023
