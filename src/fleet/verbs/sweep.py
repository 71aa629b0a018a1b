"""Sweep: look at what is, compare with what is known, apply the class table, say why.

Destruction follows from "its dispatch has ended" plus "it bears our mark" plus "look says ours": never from a miss, an age or a
name. Error is not absence. A dry run by default.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fleet.errors import FleetError, GateHeld
from fleet.model.claim import Claim
from fleet.model.dispatches import UNFINISHED
from fleet.model.identity import Identity
from fleet.model.times import SECOND, duration
from fleet.resources import KINDS
from fleet.resources.tmux_session import TmuxSession
from fleet.store import queries as q
from fleet.verbs.acquire import is_free, release
from fleet.verbs.end import end, kill_processes
from fleet.verbs.find import archived
from fleet.verbs.merge import is_merged_by_git, note_merged
from fleet.verbs.prompts import finish_rewrite
from fleet.verbs.prune import prune_when_large
from fleet.verbs.reclaim import archive, reclaim, release_bundle
from fleet.verbs.reconcile import reconcile
from fleet.verbs.settle import settle, why_alive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fleet.store.transaction import Row
    from fleet.verbs.ground import Ground
    from fleet.world.tmux import Listing

_SESSION = re.compile(r"fleet-([0-9a-f]{8})")
_HALF = re.compile(r"([0-9a-f]{8}\.md)\.[0-9a-f]{8}\.new")
_INBOX = re.compile(r"([0-9a-f]{8})\.md")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found, why it matters, what proves it, and what was done."""

    what: str
    why: str
    proof: str
    action: str
    done: bool = False
    standing: bool = False


def sweep(ground: Ground, *, kill: bool, phases: frozenset[str]) -> list[Finding]:
    """Orphans, then releases that failed, then what is derived."""
    found: list[Finding] = []
    if "orphans" in phases:
        listing = ground.world.tmux.listing()
        found += _unfinished(ground, listing, kill=kill)
        found += _sessions(ground, ground.world.tmux.listing(), kill=kill)
        found += _processes(ground, kill=kill)
        found += _files(ground, kill=kill)
        found += _rewrites(ground, kill=kill)
    if "retry-releases" in phases:
        found += _bundles(ground, kill=kill)
        found += _gone_bundles(ground, kill=kill)
        found += _ended(ground, kill=kill)
    if "reconcile-derived" in phases:
        found += _derived(ground, kill=kill)
    if "orphans" in phases and kill:
        _stop_server(ground)
        prune_when_large(ground)
    return found


def _rows(ground: Ground, *, ended: bool) -> list[Row]:
    rows = ground.store.read(lambda snapshot: snapshot.all(q.LISTED_DISPATCHES, project=None, ended=int(ended)))
    return [row for row in rows if (row["exec_state"] in UNFINISHED) != ended]


def _unfinished(ground: Ground, listing: Listing, *, kill: bool) -> Iterator[Finding]:
    for row in _rows(ground, ended=False):
        finding = _one_unfinished(ground, row, listing, kill=kill)
        if finding is not None:
            yield finding


def _one_unfinished(ground: Ground, row: Row, listing: Listing, *, kill: bool) -> Finding | None:
    what = f"dispatch {row['id']} ({row['kind']} of {row['owner']})"
    process = Identity.parse(row["process"] or "")
    life = ground.world.processes.life(process)
    alive = why_alive(ground, row, listing)
    if not alive:
        proof = "its process is dead" if process else "its spawner is dead and nobody is making its things"
        return _acted(
            what, "it has ended without being settled", proof, "settle it", kill, lambda: _settle(ground, row, listing)
        )
    if row["host"] != ground.world.host.id:
        return Finding(what=what, why="another host's", proof=alive, action="left alone", standing=True)
    if row["exec_state"] == "in_flight" and life == "dead":
        return _acted(what, "its agent is dead but left processes behind", alive, "kill them and settle it", kill,
                      lambda: _kill_rest(ground, row))  # fmt: skip
    if life == "unknown" and row["exec_state"] == "in_flight":
        return Finding(what=what, why="its process cannot be judged", proof=alive, action="left alone", standing=True)
    return _overdue(ground, row, what, kill=kill) if life == "alive" else None


def _overdue(ground: Ground, row: Row, what: str, *, kill: bool) -> Finding | None:
    """An agent that reported, or lost its task, and lives on."""
    now = ground.world.clock.now()
    grace = duration(ground.setting("report_grace"))
    if row["report"] and now - row["reported_at"] >= grace:
        proof = f"it reported {row['report']} {(now - row['reported_at']) // SECOND} s ago"
        return _acted(what, "it lives on after its report", proof, "ask it to exit, then kill its tree", kill,
                      lambda: end(ground, row["id"], asked_for="report", reason="it had reported"))  # fmt: skip
    if row["asked_for"] in {"kill", "stop"}:
        return _acted(what, f"it was asked to exit ({row['asked_for']}) and lives on", "its process is alive", "end it", kill,
                      lambda: end(ground, row["id"], asked_for=row["asked_for"], reason=row["asked_reason"]))  # fmt: skip
    if row["kind"] in {"coord", "finisher"} or row["slug"] is None:
        return None
    task = ground.store.read(lambda rows: rows.one(q.TASK_STATE, project=row["project"], slug=row["slug"]))
    if task is not None and task["assignee"] != row["id"]:
        proof = f"the task is {task['status']}, with {task['assignee'] or 'nobody'}"
        return _acted(what, "its task was taken away from it", proof, "ask it to exit, then kill its tree", kill,
                      lambda: end(ground, row["id"], asked_for="superseded", reason="its task was taken away"))  # fmt: skip
    return None


def _settle(ground: Ground, row: Row, listing: Listing) -> object:
    done = settle(ground, row["id"], listing=listing)
    if row["kind"] == "finisher" and is_merged_by_git(ground, row):
        note_merged(ground, row["project"], row["slug"])
    return done


def _kill_rest(ground: Ground, row: Row) -> object:
    kill_processes(ground, row)
    return settle(ground, row["id"])


@dataclass(frozen=True, slots=True)
class _Known:
    """What the store and tmux say, asked for once for all journals."""

    claims: dict[str, list[Claim]]
    owners: frozenset[tuple[str, str, str]]
    listing: Listing

    @classmethod
    def of(cls, ground: Ground) -> _Known:
        claims: dict[str, list[Claim]] = {}
        bundled = set()
        for claim in (Claim.of(row) for row in ground.store.read(lambda rows: rows.all(q.OPEN_CLAIMS))):
            if claim.dispatch is not None:
                claims.setdefault(claim.dispatch, []).append(claim)
            else:
                bundled.add((claim.project, claim.slug))
        bundles = ground.store.read(lambda rows: rows.all(q.ALL_BUNDLES))
        owners = {
            (row["project"], row["slug"], row["owner"]) for row in bundles if (row["project"], row["slug"]) in bundled
        }
        return cls(claims, frozenset(owners), ground.world.tmux.listing())


def _ended(ground: Ground, *, kill: bool) -> Iterator[Finding]:
    """Ended dispatches that still hold something, or could be archived."""
    known = _Known.of(ground)
    for row in _rows(ground, ended=True):
        finding = _one_ended(ground, row, known, kill=kill)
        if finding is not None:
            yield finding


def _one_ended(ground: Ground, row: Row, known: _Known, *, kill: bool) -> Finding | None:
    what = f"dispatch {row['id']} ({row['kind']} of {row['owner']})"
    proof = f"its exec state is {row['exec_state']}"
    mine = known.claims.get(row["id"], [])
    if mine:
        standing = _why_standing(ground, mine, known.listing, kill=kill)
        if standing:
            return Finding(what=what, why=standing, proof=proof, action="left alone", standing=True)
        names = ", ".join(str(claim) for claim in mine)
        return _acted(what, f"it has ended and still holds {names}", proof, "release them", kill,
                      lambda: reclaim(ground, row["id"]))  # fmt: skip
    if row["recl_state"] == "complete":
        return _acted(
            what, "it is reclaimed and not archived", proof, "archive it", kill, lambda: archive(ground, row["id"])
        )
    if (row["project"], row["slug"], row["id"]) in known.owners:
        return None
    return _acted(what, "nothing of it is left", proof, "archive it", kill, lambda: reclaim(ground, row["id"]))


def _why_standing(ground: Ground, claims: list[Claim], listing: Listing, *, kill: bool) -> str:
    """Why nothing can be done about what an ended dispatch holds; empty when something can."""
    stuck = [why for why in (_why_stuck(ground, claim, listing) for claim in claims) if why]
    if len(stuck) == len(claims):
        return "; ".join(stuck)
    blocked = [claim for claim in claims if claim.state == "releasing_blocked"]
    return f"{blocked[0]} could not be released {blocked[0].failures} times" if blocked and not kill else ""


def _why_stuck(ground: Ground, claim: Claim, listing: Listing) -> str:
    """Why a claim of an ended dispatch is left alone; empty when it can be released."""
    if claim.host != ground.world.host.id:
        return f"{claim} belongs to host {claim.host}"
    kind = KINDS.get(claim.kind)
    if kind is None:
        return f"{claim} is of an unknown kind"
    if claim.state != "live" and not is_free(ground, claim):
        return f"{claim} is in the hands of {claim.actor}"
    look = kind.judge(claim, listing, ground.world) if isinstance(kind, TmuxSession) else kind.look(claim, ground.world)
    return f"{claim} is {look}" if look in {"unknown", "foreign"} else ""


def _bundles(ground: Ground, *, kill: bool) -> Iterator[Finding]:
    """Worktrees of tasks that are terminal and archived."""
    lone = [Claim.of(row) for row in ground.store.read(lambda rows: rows.all(q.LONE_CLAIMS))]
    tasks = dict.fromkeys((claim.project or "", claim.slug or "") for claim in lone)
    listing = ground.world.tmux.listing()
    for project, slug in tasks:
        mine = [claim for claim in lone if (claim.project, claim.slug) == (project, slug)]
        what, proof = f"the bundle of {project}/{slug}", "the task is ended and archived"
        stuck = [why for why in (_why_kept(ground, claim, listing) for claim in mine) if why]
        if stuck:
            yield Finding(what=what, why="; ".join(stuck), proof=proof, action="kept", standing=True)
        else:
            yield _acted(what, "nobody needs it any more", proof, "release it", kill,
                         lambda: release_bundle(ground, project, slug))  # fmt: skip # noqa: B023


def _gone_bundles(ground: Ground, *, kill: bool) -> Iterator[Finding]:
    """A worktree or directory whose claim is live, and that is not there any more."""
    for row in ground.store.read(lambda rows: rows.all(q.OPEN_CLAIMS)):
        claim = Claim.of(row)
        if claim.dispatch is None and claim.state == "live" and not os.path.lexists(claim.name):
            yield _acted(str(claim), "it is gone", "nothing is at its path", "write that down", kill,
                         lambda: release(ground, claim))  # fmt: skip # noqa: B023


def _why_kept(ground: Ground, claim: Claim, listing: Listing) -> str:
    stuck = _why_stuck(ground, claim, listing)
    if stuck or claim.kind != "worktree":
        return stuck
    dirty = os.path.isdir(claim.name) and ground.world.git.is_dirty(claim.name)
    return f"{claim.name} has uncommitted work" if dirty or dirty is None else ""


def _sessions(ground: Ground, listing: Listing, *, kill: bool) -> Iterator[Finding]:
    """Sessions on our server: ours whose dispatch has ended; those that only look like ours are listed."""
    for pane in listing.panes:
        what = f"tmux session {pane.session}"
        if pane.home != ground.world.tmux.home_id:
            if _SESSION.fullmatch(pane.session):
                yield Finding(what=what, why="it has our name but not our mark", proof=f"its mark is {pane.home or 'missing'}",
                              action="listed only", standing=True)  # fmt: skip
            continue
        row = ground.store.read(lambda rows: rows.one(q.DISPATCH_BY_ID, id=pane.dispatch))  # noqa: B023
        if row is not None:
            continue  # its dispatch is in the tables, and releases it by its claim
        if archived(ground, pane.dispatch) is None:
            yield Finding(what=what, why="it bears our mark, but its dispatch is in neither tables nor archive",
                          proof="was a backup restored?", action="listed only", standing=True)  # fmt: skip
            continue
        proof = f"dispatch {pane.dispatch} is in the archive"
        yield _acted(what, "its dispatch has ended", proof, "kill it", kill,
                     lambda: ground.world.tmux.kill(pane.session_id))  # fmt: skip # noqa: B023


def _processes(ground: Ground, *, kill: bool) -> Iterator[Finding]:
    """Processes that carry the id of a dispatch that has ended."""
    for ident, whom in ground.world.processes.marks().items():
        row = ground.store.read(lambda rows: rows.one(q.DISPATCH_BY_ID, id=ident))  # noqa: B023
        ended = row["exec_state"] not in UNFINISHED if row is not None else archived(ground, ident) is not None
        if not ended:
            continue
        for who in whom:
            yield _acted(f"process {who.pid}", f"its dispatch {ident} has ended", "it carries its id in its environment",
                         "kill it", kill, lambda: ground.world.processes.kill_all([who]))  # fmt: skip # noqa: B023


def _files(ground: Ground, *, kill: bool) -> Iterator[Finding]:
    """Prompts and worktrees that no claim speaks of. Listed, never touched."""
    claims = ground.store.read(lambda rows: rows.all(q.OPEN_CLAIMS))
    held = {row["name"] for row in claims}
    if kill:
        _forget_litter(
            ground, {row["id"] for row in claims}, {row["name"] for row in claims if row["state"] == "allocating"}
        )
    for name in ground.world.files.names("inbox"):
        if _INBOX.fullmatch(name) and f"inbox/{name}" not in held:
            yield Finding(what=f"inbox/{name}", why="no claim speaks of it", proof="looked up in the store",
                          action="listed only", standing=True)  # fmt: skip
    for project in ground.world.files.names("projects"):
        for name in ground.world.files.names(f"projects/{project}/worktrees"):
            path = f"{ground.world.home}/projects/{project}/worktrees/{name}"
            if path not in held:
                yield Finding(what=path, why="no claim speaks of it", proof="looked up in the store",
                              action="listed only", standing=True)  # fmt: skip


def _forget_litter(ground: Ground, claims: set[str], making: set[str]) -> None:
    """Locks of claims that are history, and prompts that were never published whole."""
    for name in ground.world.files.names("locks/effects"):
        ident = name.removesuffix(".lock")
        if ident not in claims and ground.world.effect_lock(ident).is_free():
            ground.world.forget_effect_lock(ident)
    for name in ground.world.files.names("inbox"):
        found = _HALF.fullmatch(name)
        if found and f"inbox/{found[1]}" not in making:
            ground.world.files.unlink(f"inbox/{name}")


def _rewrites(ground: Ground, *, kill: bool) -> Iterator[Finding]:
    """Inboxes that were handed over by someone who died before the file said so."""
    for row in ground.store.read(lambda rows: rows.all(q.UNFINISHED_REWRITES)):
        claim = Claim.of(row)
        yield _acted(f"{claim}", f"it was handed over to {claim.dispatch} and not rewritten", "its claim carries the content",
                     "rewrite it", kill, lambda: finish_rewrite(ground, claim))  # fmt: skip # noqa: B023


def _derived(ground: Ground, *, kill: bool) -> Iterator[Finding]:
    for project, stale in reconcile(ground, write=kill).items():
        if stale:
            yield Finding(what=f"projects/{project}/coord-state.json", why="it does not say what the store says", proof="computed anew",
                          action="rewritten" if kill else "would rewrite it", done=kill)  # fmt: skip


def _stop_server(ground: Ground) -> None:
    """A tmux server without sessions, left by a dispatcher that died before its first one. Not while one is starting."""
    if _rows(ground, ended=False):
        return
    gate = ground.world.gate("tmux")
    try:
        gate.take()
    except GateHeld:
        return
    try:
        ground.world.tmux.stop_empty_server()
    finally:
        gate.give()


def _acted(what: str, why: str, proof: str, action: str, kill: bool, act: Callable[[], Any]) -> Finding:  # noqa: FBT001, PLR0917
    if not kill:
        return Finding(what=what, why=why, proof=proof, action=f"would {action}")
    try:
        outcome = act()
    except (FleetError, OSError) as error:
        return Finding(what=what, why=why, proof=proof, action=f"could not {action}: {error}", standing=True)
    left = outcome.get("left") if isinstance(outcome, dict) else outcome if isinstance(outcome, list) else None
    said = f"did: {action}" + (f"; left: {'; '.join(left)}" if left else "")
    return Finding(what=what, why=why, proof=proof, action=said, done=not left, standing=bool(left))
