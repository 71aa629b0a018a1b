"""Stray: sessions, processes and files that nobody in the tables answers for, or that outlived whoever did."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.results.home import Swept
from fleet.model.text.times import HOUR
from fleet.resources import KINDS
from fleet.store import queries as q
from fleet.store import sqlite_setup
from fleet.verbs.agents.prompts import finish_rewrite
from fleet.verbs.dispatch.acquire import release
from fleet.verbs.dispatch.find import archived
from fleet.verbs.dispatch.remaining import describe_processes
from fleet.verbs.homes.ownership import is_own
from fleet.verbs.sweep.finding import acted
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.verbs.context import Context
    from fleet.world.tmux import Listing, Pane

_SESSION = re.compile(r"fleet-([0-9a-f]{8})")
_INBOX = re.compile(r"([0-9a-f]{8})\.md")
_LATE = 168 * HOUR


def sessions(context: Context, listing: Listing, *, kill: bool) -> Iterator[Swept]:
    """Panes on our server: agents' whose dispatch has ended. Sessions that have our name and no pane of ours are listed."""
    held = {row.name for row in context.store.read(q.open_claims)}
    ours = {pane.session for pane in listing.panes if pane.home == context.world.tmux.home_id}
    for pane in listing.panes:
        what = f"tmux session {pane.session}"
        if pane.home != context.world.tmux.home_id:
            if _SESSION.fullmatch(pane.session) and pane.session not in ours:
                yield Swept(what=what, why="it has our name but not our mark", proof=f"its mark is {pane.home or 'missing'}",
                              action="listed only", standing=True)  # fmt: skip
            continue
        row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=pane.dispatch))  # noqa: B023
        what = f"the pane of dispatch {pane.dispatch} in tmux session {pane.session}" if pane.stamped else what
        if row is not None and (is_unfinished(row) or f"fleet-{pane.dispatch}" in held):
            continue  # its dispatch releases it by its claim
        if row is None and archived(context, pane.dispatch) is None:
            yield Swept(what=what, why="it bears our mark, but its dispatch is in neither tables nor archive",
                          proof="was a backup restored?", action="listed only", standing=True)  # fmt: skip
            continue
        proof = f"dispatch {pane.dispatch} is {'in the archive' if row is None else row.exec_state}"
        yield acted(what, "its dispatch has ended", proof, "kill it", kill,
                    lambda: _killed(context, pane, listing))  # fmt: skip # noqa: B023


def _killed(context: Context, pane: Pane, seen: Listing) -> bool:
    """Whether it is gone, by us or by somebody who was faster."""
    if context.world.tmux.kill(pane):
        return True
    now = context.world.tmux.listing()
    if now.server is None:  # a server goes with its last session
        return context.world.processes.life(seen.server) == "dead"
    return now.pane_of(pane.dispatch) is None


def processes(context: Context, *, kill: bool) -> Iterator[Swept]:
    """Processes that carry the id of a dispatch that has ended."""
    for ident, whom in context.world.processes.marks().items():
        row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))  # noqa: B023
        ended = not is_unfinished(row) if row is not None else archived(context, ident) is not None
        if not ended:
            continue
        for who in whom:
            yield acted(f"process {who.pid}", f"its dispatch {ident} has ended", "it carries its id in its environment",
                        "kill it", kill, lambda: context.world.processes.kill_all([who]))  # fmt: skip # noqa: B023


def cgroups(context: Context, *, kill: bool) -> Iterator[Swept]:
    """Control groups of this home that no claim speaks of. An empty one goes; one with somebody in it is listed."""
    there = context.world.cgroups.all_of_home(
        context.world.processes.me().pid
    )  # before the claims: whoever makes one has its claim first
    held = {row.name for row in context.store.read(q.open_claims)}
    for path in (each for each in there if each not in held):
        inside = context.world.cgroups.members(path)
        if inside:
            yield Swept(what=path, why="no claim speaks of it", proof=f"in it: {describe_processes(context, inside)}",
                          action="listed only", standing=True)  # fmt: skip
        else:
            yield acted(path, "no claim speaks of it", "nobody is in it", "remove it", kill,
                        lambda: context.world.cgroups.remove(path))  # fmt: skip # noqa: B023


def files(context: Context, *, kill: bool) -> Iterator[Swept]:
    """Prompts and worktrees that no claim speaks of. Listed, never touched."""
    if kill:
        _forget_litter(context)
    held = {row.name for row in context.store.read(q.open_claims)}
    for name in context.world.files.names(paths.INBOX):
        if _INBOX.fullmatch(name) and f"{paths.INBOX}/{name}" not in held:
            yield Swept(what=f"{paths.INBOX}/{name}", why="no claim speaks of it", proof="looked up in the store",
                          action="listed only", standing=True)  # fmt: skip
    for project in context.world.files.names(paths.PROJECTS):
        trees = [
            f"{context.world.home}/{paths.project_folder(project, folder)}/{name}"
            for folder in (paths.WORKTREES, paths.MERGES)
            for name in context.world.files.names(paths.project_folder(project, folder))
        ]
        for path in trees:
            if path not in held:
                yield Swept(what=path, why="no claim speaks of it", proof="looked up in the store",
                              action="listed only", standing=True)  # fmt: skip


def _forget_litter(context: Context) -> None:
    """Remove locks of claims that are history, and files that somebody who is dead was writing. First what is there, then whose it is."""
    files = context.world.files
    locks = files.names(paths.EFFECT_LOCKS)
    known = {row.id for row in context.store.read(q.open_claims)}
    for ident in (name.removesuffix(".lock") for name in locks):
        if ident not in known and context.world.effect_lock(ident).is_free():
            context.world.forget_effect_lock(ident)
    for path in files.abandoned():
        files.discard_abandoned(path)
    sqlite_setup.sweep(context.world.home, context.world.funnel)
    _forget_links(context)


def _forget_links(context: Context) -> None:
    """Remove links to fleet that were not put into their place, unless somebody is at it."""
    left = [name for name in context.world.files.names(paths.LOCKS) if name.startswith("fleet.")]
    if not left:
        return
    try:
        with context.world.gate("bin"):
            for name in left:
                if os.path.islink(f"{context.world.home}/{paths.LOCKS}/{name}"):
                    context.world.files.unlink(f"{paths.LOCKS}/{name}")
    except errors.GateHeld:
        return


def rewrites(context: Context, *, kill: bool) -> Iterator[Swept]:
    """Inboxes that were handed over by someone who died before the file said so."""
    for row in context.store.read(q.unfinished_rewrites):
        claim = Claim.of(row)
        if not is_own(context, claim):
            continue
        yield acted(f"{claim}", f"it was handed over to {claim.dispatch} and not rewritten", "its claim carries the content",
                    "rewrite it", kill, lambda: finish_rewrite(context, claim))  # fmt: skip # noqa: B023


def late_inboxes(context: Context, *, kill: bool) -> Iterator[Swept]:
    """A backstop: prompts that are still ours long after their dispatch ended."""
    before = context.world.clock.now() - _LATE
    for row in context.store.read(lambda rows: q.late_inboxes(rows, before=before)):
        claim = Claim.of(row)
        if is_own(context, claim) and KINDS[claim.kind].look(claim, context.world) == "ours":
            why = f"it is still ours {_LATE // HOUR} h after its dispatch {claim.dispatch} ended"
            yield acted(str(claim), why, "its claim names it, and it is there", "release it", kill,
                        lambda: [*filter(None, [release(context, claim)])])  # fmt: skip # noqa: B023
