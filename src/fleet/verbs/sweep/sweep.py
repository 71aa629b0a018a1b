"""Sweep: look at what is, compare with what is known, apply the class table, say why.

Destruction follows from "its dispatch has ended" plus "it bears our mark" plus "look says ours": never from a miss, an age or a
name. Error is not absence. A dry run by default.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from fleet import errors
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.remedies import KillRest, Leave, Press, Settle, Withdraw, remedy_for
from fleet.model.dispatch.settling import HANDED_OFF
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.dispatch.worktree_verdict import Aside
from fleet.model.results.home import Swept
from fleet.model.text.times import age, duration
from fleet.resources import KINDS
from fleet.resources.tmux_session import TmuxSession
from fleet.store import queries as q
from fleet.verbs.dispatch import remaining
from fleet.verbs.dispatch.acquire import is_free, release
from fleet.verbs.dispatch.apply_remedy import apply
from fleet.verbs.dispatch.looking import look
from fleet.verbs.dispatch.reclaim import (
    archive,
    is_bundle_releasable,
    is_handed_over,
    reclaim,
    release_bundle,
    verdict,
    why_kept,
)
from fleet.verbs.homes.ownership import is_own, offer, owner_of
from fleet.verbs.jobs.sweep import sweep_ended_items, sweep_leftovers
from fleet.verbs.merge.merge import finish_dead_merge
from fleet.verbs.sweep import coordinators, journal_archive, strays, trash
from fleet.verbs.sweep.derived_files import reconcile
from fleet.verbs.sweep.finding import Outcome, about, acted
from fleet.verbs.tasks.reopen import archive_long_ended
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.model.dispatch.remedies import Remedy, Seen
    from fleet.store.queries import Dispatch
    from fleet.verbs.context import Context
    from fleet.world.process.census import Census
    from fleet.world.tmux import Listing

_UNSEATED = "another coordinator is in the seat, or nobody"
_STANDING = {
    "foreign": "another home's or host's",
    "strangers": "its agent is dead, and its worktree is not handed on",
    "unknown": "its process cannot be judged",
    "silent": "how it ended cannot be judged",
}


def sweep(context: Context, *, kill: bool, phases: frozenset[str]) -> list[Swept]:
    """Orphans, then releases that failed, then what is derived."""
    found: list[Swept] = []
    if "orphans" in phases:
        found += coordinators.withdrawals(context, kill=kill)
        listing = context.world.tmux.listing()
        found += _unfinished(context, listing, kill=kill)
        found += strays.sessions(context, context.world.tmux.listing(), kill=kill)
        found += strays.processes(context, kill=kill)
        found += sweep_leftovers(context, kill=kill)
        found += strays.cgroups(context, kill=kill)
        found += strays.files(context, kill=kill)
        found += strays.rewrites(context, kill=kill)
        found += strays.late_inboxes(context, kill=kill)
        found += coordinators.findings(context, kill=kill)
    if "retry-releases" in phases:
        found += _long_ended(context, kill=kill)
        found += sweep_ended_items(context, kill=kill)
        found += _bundles(context, kill=kill)
        found += _gone_bundles(context, kill=kill)
        found += trash.findings(context, kill=kill)
        found += _ended(context, kill=kill)
    if "reconcile-derived" in phases:
        found += _derived(context, kill=kill)
    if "orphans" in phases:
        found += _archive(context, kill=kill)
    if "orphans" in phases and kill:
        context.world.namespaces.forget_gone(context.world.funnel)
        _stop_server(context)
    return found


def _rows(context: Context, *, ended: bool) -> list[Dispatch]:
    rows = context.store.read(lambda snapshot: q.listed_dispatches(snapshot, project=None, ended=int(ended)))
    return [row for row in rows if is_unfinished(row) != ended]


def _unfinished(context: Context, listing: Listing, *, kill: bool) -> Iterator[Swept]:
    rows = _rows(context, ended=False)
    census = context.world.processes.census() if rows else None
    for row in rows:
        finding = _one_unfinished(context, row, listing, census, kill=kill)
        if finding is not None:
            yield finding


def _one_unfinished(
    context: Context, row: Dispatch, listing: Listing, census: Census | None, *, kill: bool
) -> Swept | None:
    """What is found about one dispatch; None when it is as it should be. Candidates for a seat are `coordinators`'."""
    seen = look(context, row, "sweep", listing=listing, census=census)
    if kill and seen.condition == "alive":
        remaining.record(context, row, census)
    remedy = remedy_for("sweep", seen)
    if isinstance(remedy, Leave):
        return _left_alone(row, seen, remedy)
    if isinstance(remedy, Withdraw):
        return None
    why, proof, action = _words(row, seen, remedy)
    return acted(about(row), why, proof, action, kill, lambda: _apply(context, row, remedy, listing))


def _left_alone(row: Dispatch, seen: Seen, left: Leave) -> Swept | None:
    if not left.is_standing:
        return None
    why = _UNSEATED if seen.place in {"out", "withdrawn"} else _STANDING[left.cause]
    return Swept(what=about(row), why=why, proof=left.why, action="left alone", standing=True)


def _words(row: Dispatch, seen: Seen, remedy: Settle | KillRest | Press) -> tuple[str, str, str]:
    """Why, proof and action, for a finding."""
    match remedy:
        case Settle():
            proof = "its process is dead" if row.process else "its spawner is dead and nobody is making its things"
            proof += f"; cannot be looked into: {seen.unreadable}" if seen.unreadable else ""
            return "it has ended without being settled", proof, "settle it"
        case KillRest():
            return "its agent is dead but left processes behind", seen.why, "kill them and settle it"
        case Press(act="retire"):
            return _UNSEATED, "the seat says so", "ask it to exit, then kill its tree"
        case Press(asked_for="report"):
            return "it lives on after its report", seen.proof, "ask it to exit, then kill its tree"
        case Press(stage="ask"):
            return "its task was taken away from it", seen.proof, "ask it to exit, then kill its tree"
        case Press():
            return f"it was asked to exit ({remedy.asked_for}) and lives on", seen.proof, "end it"
        case _:
            assert_never(remedy)


def _apply(context: Context, row: Dispatch, remedy: Remedy, listing: Listing) -> Outcome:
    applied = apply(context, row, remedy, wait=True, listing=listing)
    if not applied.ended:
        return Outcome(failure=applied.why or "it does not answer")
    finish_dead_merge(context, row)  # a finisher's merge, from what git says
    return Outcome(left=applied.left)


@dataclass(frozen=True, slots=True)
class _Known:
    """What the store and tmux say, asked for once for all journals."""

    claims: dict[str, list[Claim]]
    owners: frozenset[tuple[str, str, str]]
    # Tasks of whose bundle something could not be made.
    unmade: frozenset[tuple[str | None, str | None]]
    listing: Listing

    @classmethod
    def of(cls, context: Context) -> _Known:
        claims: dict[str, list[Claim]] = {}
        bundled, unmade = set(), set()
        for claim in (Claim.of(row) for row in context.store.read(q.open_claims)):
            if claim.dispatch is not None:
                claims.setdefault(claim.dispatch, []).append(claim)
            elif claim.slug is not None:
                bundled.add((claim.project, claim.slug))
            if claim.slug is not None and claim.state == "failed_alloc":
                unmade.add((claim.project, claim.slug))
        bundles = context.store.read(q.all_bundles)
        owners = {(row.project, row.slug, row.owner) for row in bundles if (row.project, row.slug) in bundled}
        return cls(claims, frozenset(owners), frozenset(unmade), context.world.tmux.listing())


def _ended(context: Context, *, kill: bool) -> Iterator[Swept]:
    """Ended dispatches that still hold something, or could be archived."""
    known = _Known.of(context)
    for row in _rows(context, ended=True):
        if not is_own(context, row) and row.id not in known.claims:
            continue  # its own home archives it
        finding = _one_ended(context, row, known, kill=kill)
        if finding is not None:
            yield finding


def _one_ended(context: Context, row: Dispatch, known: _Known, *, kill: bool) -> Swept | None:
    what = about(row)
    proof = f"it has ended: {row.exec_state}"
    mine = known.claims.get(row.id, [])
    if row.blocked_reason == HANDED_OFF and context.store.read(lambda rows: is_handed_over(rows, row.id)):
        mine = [claim for claim in mine if claim.kind != "coord_prompt_inbox"]
    if mine:
        standing = _why_standing(context, mine, known.listing, kill=kill)
        if standing:
            return Swept(what=what, why=standing, proof=proof, action="left alone", standing=True)
        names = ", ".join(str(claim) for claim in mine)
        return acted(what, f"it has ended and still holds {names}", proof, "release them", kill,
                     lambda: reclaim(context, row.id))  # fmt: skip
    if row.recl_state == "complete":
        why = "it is reclaimed and not archived"
        return acted(what, why, proof, "archive it", kill, lambda: archive(context, row.id))
    if (row.project, row.slug, row.id) in known.owners:
        if (row.project, row.slug) not in known.unmade:
            return None
        why = "what could not be made for it was not undone"
        return acted(what, why, proof, "undo it", kill, lambda: reclaim(context, row.id))
    return acted(what, "nothing of it is left", proof, "archive it", kill, lambda: reclaim(context, row.id))


def _why_standing(context: Context, claims: list[Claim], listing: Listing, *, kill: bool) -> str:
    """Why nothing can be done about what an ended dispatch holds; empty when something can."""
    stuck = [why for why in (_why_stuck(context, claim, listing) for claim in claims) if why]
    if len(stuck) == len(claims):
        return "; ".join(stuck)
    blocked = [claim for claim in claims if claim.state == "releasing_blocked"]
    return f"{blocked[0]} could not be released {blocked[0].failures} times" if blocked and not kill else ""


def _why_stuck(context: Context, claim: Claim, listing: Listing) -> str:
    """Why a claim of an ended dispatch is left alone; empty when it can be released."""
    if not is_own(context, claim):
        return f"{claim} belongs to {owner_of(context, claim)}; {offer(claim.dispatch or 'ID')}"
    kind = KINDS.get(claim.kind)
    if kind is None:
        return f"{claim} is of an unknown kind"
    if claim.state != "live" and not is_free(context, claim):
        return f"{claim} is in the hands of {claim.hands}"
    look = (
        kind.judge(claim, listing, context.world) if isinstance(kind, TmuxSession) else kind.look(claim, context.world)
    )
    return f"{claim} is {look}" if look in {"unknown", "foreign"} else ""


def _long_ended(context: Context, *, kill: bool) -> Iterator[Swept]:
    """Tasks that failed or were abandoned long ago. One that is done waits for its merge."""
    now = context.world.clock.now()
    for project in [row.name for row in context.store.read(q.all_projects)]:
        try:
            before = now - duration(context.setting("task.archive_after", project))
        except errors.FleetError as error:
            yield Swept(what=f"the ended tasks of {project}", why="their age cannot be judged", proof=str(error),
                          action="left alone", standing=True)  # fmt: skip
            continue
        for row in context.store.read(lambda rows: q.long_ended_tasks(rows, project=project, before=before)):  # noqa: B023
            why = f"{row.status} {age(now - row.ended_at)} ago"
            yield acted(f"task {project}/{row.slug}", why, "its task.archive_after is over", "archive it", kill,
                        lambda: context.commit(archive_long_ended(project=project, slug=row.slug, before=before)))  # fmt: skip # noqa: B023


def _bundles(context: Context, *, kill: bool) -> Iterator[Swept]:
    """Worktrees of tasks that are terminal and archived."""
    lone = [Claim.of(row) for row in context.store.read(q.lone_claims)]
    tasks = dict.fromkeys((claim.project or "", claim.slug or "") for claim in lone)
    listing = context.world.tmux.listing()
    for project, slug in tasks:
        if not is_bundle_releasable(context, project, slug):
            continue  # an agent still works in it
        mine = [claim for claim in lone if (claim.project, claim.slug) == (project, slug)]
        what, proof = f"the bundle of {project}/{slug}", "the task is ended and archived"
        stuck = [why for why in (_why_kept(context, claim, listing) for claim in mine) if why]
        if stuck:
            yield Swept(what=what, why="; ".join(stuck), proof=proof, action="kept", standing=True)
        else:
            yield acted(what, "nobody needs it any more", proof, f"release it{_put_aside_first(context, mine)}", kill,
                        lambda: _release(context, project, slug))  # fmt: skip # noqa: B023


def _put_aside_first(context: Context, claims: list[Claim]) -> str:
    """How many ignored files will be put aside, in words; empty when there are none."""
    counts = [found.files for found in (verdict(context, claim) for claim in claims) if isinstance(found, Aside)]
    return f", {sum(counts)} ignored files put aside before" if counts else ""


def _release(context: Context, project: str, slug: str) -> Outcome:
    left = release_bundle(context, project, slug)
    return Outcome(left=left, aside=[] if left else trash.announced(context, project, slug))


def _gone_bundles(context: Context, *, kill: bool) -> Iterator[Swept]:
    """A worktree or directory whose claim is live, and that is not there any more."""
    for row in context.store.read(q.open_claims):
        claim = Claim.of(row)
        gone = claim.slug is not None and claim.state == "live" and not os.path.lexists(claim.name)
        if gone and is_own(context, claim):
            yield acted(str(claim), "it is gone", "nothing is at its path", "write that down", kill,
                        lambda: [*filter(None, [release(context, claim)])])  # fmt: skip # noqa: B023


def _why_kept(context: Context, claim: Claim, listing: Listing) -> str:
    return _why_stuck(context, claim, listing) or why_kept(context, claim)


def _derived(context: Context, *, kill: bool) -> Iterator[Swept]:
    for project, stale in reconcile(context, write=kill).items():
        if stale:
            yield Swept(what=paths.coord_state(project), why="it does not say what the store says", proof="computed anew",
                          action="rewritten" if kill else "would rewrite it", done=kill)  # fmt: skip


def _archive(context: Context, *, kill: bool) -> Iterator[Swept]:
    """Journals that the archive has no room for."""
    names = journal_archive.too_many(context)
    if names:
        yield acted(paths.JOURNALS, f"it is larger than {journal_archive.LARGEST // 1_000_000} MB", "the sizes of its files",
                    f"remove the {len(names)} oldest journals", kill, lambda: journal_archive.remove(context, names))  # fmt: skip


def _stop_server(context: Context) -> None:
    """A tmux server without sessions, left by a dispatcher that died before its first one. Not while one is starting."""
    if any(is_own(context, row) for row in _rows(context, ended=False)):
        return
    gate = context.world.gate("tmux")
    try:
        gate.take()
    except errors.GateHeld:
        return
    try:
        context.world.tmux.stop_empty_server()
    finally:
        gate.give()
