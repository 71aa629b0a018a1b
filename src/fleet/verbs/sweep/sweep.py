"""Sweep: find and release what dead or ended dispatches left behind, and report what a person has to look at.

A thing of a dispatch is destroyed only when the dispatch has ended, the thing has this home's mark, and its kind
recognises it as ours; never because of its age or name alone, or because no row was found. An error is not proof of
absence. What fleet keeps for a time only (trash, old proofs and messages, journals) is deleted when that time is over.
Without `acts`, nothing changes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from fleet import errors
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.remedies import Dismiss, KillRest, Leave, Press, Settle, Withdraw, remedy_for
from fleet.model.dispatch.steps import HANDED_OFF, is_unfinished
from fleet.model.dispatch.worktree_verdict import Aside
from fleet.model.results.home import Swept
from fleet.model.text.times import age, duration
from fleet.resources import KINDS
from fleet.resources.tmux_session import TmuxSession
from fleet.store import queries as q
from fleet.verbs.dispatch import leftover_processes
from fleet.verbs.dispatch.acquire import is_free, release
from fleet.verbs.dispatch.apply_remedy import apply
from fleet.verbs.dispatch.facts import gather_facts
from fleet.verbs.dispatch.journal import archive
from fleet.verbs.dispatch.reclaim import (
    is_bundle_releasable,
    is_handed_over,
    reclaim,
    release_bundle,
    verdict,
    why_kept,
)
from fleet.verbs.homes.ownership import disown_hint, is_own, owner_of
from fleet.verbs.jobs.sweep import sweep_ended_items, sweep_leftovers
from fleet.verbs.merge.merge import finish_dead_merge
from fleet.verbs.sweep import coordinators, journal_archive, strays, trash
from fleet.verbs.sweep.clock_doubt import why_clock_doubted
from fleet.verbs.sweep.derived_files import reconcile_coord_state
from fleet.verbs.sweep.finding import SweepOutcome, act_on, describe_dispatch
from fleet.verbs.sweep.warm_trees import sweep_warm_trees
from fleet.verbs.tasks.reopen import archive_long_ended
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.model.dispatch.remedies import Remedy, Seen
    from fleet.store.queries import Dispatch
    from fleet.verbs.context import Context
    from fleet.world.process.census import Census
    from fleet.world.tmux import Listing

# Why a person has to look at a coordinator that has lost its seat, and, by cause, at any other dispatch that is left
# alone.
_UNSEATED = "another coordinator is in the seat, or nobody"
_STANDING = {
    "foreign": "another home's or host's",
    "strangers": "its agent is dead, and its worktree is not handed on",
    "unknown": "its process cannot be judged",
    "silent": "how it ended cannot be judged",
}


def sweep(context: Context, *, acts: bool, phases: frozenset[str]) -> list[Swept]:
    """Run the named phases and return their findings. Changes things only with `acts`.

    `orphans` ends what is left of dead dispatches and finds things without an owner, `retry-releases` releases what
    ended dispatches, tasks and jobs hold, and `reconcile-derived` rewrites each coord-state.json. The phase
    `warm-trees`, together with `retry-releases`, also removes the merge trees that are kept for the next merge. While
    the clock is doubted, nothing is deleted because of its age.
    """
    doubt = why_clock_doubted(context) if acts else ""
    findings: list[Swept] = [_finding_of_clock(doubt)] if doubt else []
    may_delete_by_age = acts and not doubt
    if "orphans" in phases:
        findings += coordinators.sweep_candidates(context, acts=acts)
        listing = context.world.tmux.listing()
        findings += _sweep_unfinished(context, listing, acts=acts)
        findings += strays.sweep_sessions(context, context.world.tmux.listing(), acts=acts)
        findings += strays.sweep_processes(context, acts=acts)
        findings += sweep_leftovers(context, acts=acts)
        findings += strays.sweep_cgroups(context, acts=acts)
        findings += strays.sweep_files(context, acts=acts)
        findings += strays.sweep_rewrites(context, acts=acts)
        findings += strays.sweep_late_inboxes(context, acts=may_delete_by_age)
        findings += coordinators.sweep_proofs_and_messages(context, acts=may_delete_by_age)
    if "retry-releases" in phases:
        findings += _sweep_long_ended_tasks(context, acts=may_delete_by_age)
        findings += sweep_ended_items(context, acts=acts)
        findings += _sweep_bundles(context, acts=acts)
        findings += _sweep_gone_bundles(context, acts=acts)
        findings += sweep_warm_trees(context, every="warm-trees" in phases, acts=acts)
        findings += trash.sweep_trash(context, acts=acts, may_delete_by_age=may_delete_by_age)
        findings += _sweep_ended(context, acts=acts)
    if "reconcile-derived" in phases:
        findings += _sweep_coord_states(context, acts=acts)
    if "orphans" in phases:
        findings += _sweep_journal_archive(context, acts=acts)
    if "orphans" in phases and acts:
        context.world.namespaces.forget_gone(context.world.funnel)
        _stop_empty_server(context)
    return findings


def _finding_of_clock(doubt: str) -> Swept:
    """Return the finding that nothing is deleted by its age, because the clock may be wrong."""
    return Swept(
        what="what is deleted by its age", why=doubt, proof="the time of the last sweep", action="kept", standing=True
    )


def _dispatches_by_end(context: Context, *, ended: bool) -> list[Dispatch]:
    """Return the ended dispatches of all projects that are not archived; with `ended` False, the unfinished ones."""
    rows = context.store.read(lambda snapshot: q.listed_dispatches(snapshot, project=None, ended=int(ended)))
    return [row for row in rows if is_unfinished(row) != ended]


def _sweep_unfinished(context: Context, listing: Listing, *, acts: bool) -> Iterator[Swept]:
    """Settle or end the unfinished dispatches whose agent is dead or should have exited; without `acts`, only report them."""
    rows = _dispatches_by_end(context, ended=False)
    census = context.world.processes.census() if rows else None
    for row in rows:
        finding = _sweep_unfinished_dispatch(context, row, listing, census, acts=acts)
        if finding is not None:
            yield finding


def _sweep_unfinished_dispatch(
    context: Context, row: Dispatch, listing: Listing, census: Census | None, *, acts: bool
) -> Swept | None:
    """Return the finding about one unfinished dispatch; None when nothing has to be done about it. With `acts`, do it.

    None also for a candidate that has to be withdrawn, which `sweep_candidates` reports.
    """
    seen = gather_facts(context, row, "sweep", listing=listing, census=census)
    if acts and seen.condition == "alive":
        leftover_processes.record_descendants(context, row, census)
    remedy = remedy_for("sweep", seen)
    if isinstance(remedy, Leave):
        return _finding_left_alone(row, seen, remedy)
    if isinstance(remedy, Withdraw):
        return None
    why, proof, action = _describe_remedy(row, seen, remedy)
    return act_on(
        describe_dispatch(row), why, proof, action, acts, lambda: _apply_remedy(context, row, remedy, listing)
    )


def _finding_left_alone(row: Dispatch, seen: Seen, left: Leave) -> Swept | None:
    """Return the finding about a dispatch that a person has to look at; None when nobody has to."""
    if not left.is_standing:
        return None
    why = _UNSEATED if seen.place in {"out", "withdrawn"} else _STANDING[left.cause]
    return Swept(what=describe_dispatch(row), why=why, proof=left.why, action="left alone", standing=True)


def _describe_remedy(row: Dispatch, seen: Seen, remedy: Settle | KillRest | Press | Dismiss) -> tuple[str, str, str]:
    """Return three texts for the finding: why a remedy is needed, what proves that, and what the remedy does."""
    match remedy:
        case Settle():
            proof = "its process is dead" if row.process else "its spawner is dead, and no process is making its claims"
            proof += f"; cannot be looked into: {seen.unreadable}" if seen.unreadable else ""
            return "it has ended without being settled", proof, "settle it"
        case KillRest():
            return "its agent is dead but left processes behind", seen.why, "kill them and settle it"
        case Press(act="retire") | Dismiss():
            why = _UNSEATED if remedy.act == "retire" else "it was asked to exit and is still a duty of the daemon"
            is_duty = isinstance(remedy, Dismiss)
            return why, "the seat says so", "end its duty" if is_duty else "ask it to exit, then kill its tree"
        case Press(asked_for="report"):
            return "it lives on after its report", seen.proof, "ask it to exit, then kill its tree"
        case Press(stage="ask"):
            return "its task was taken away from it", seen.proof, "ask it to exit, then kill its tree"
        case Press():
            return f"it was asked to exit ({remedy.asked_for}) and lives on", seen.proof, "end it"
        case _:
            assert_never(remedy)


def _apply_remedy(context: Context, row: Dispatch, remedy: Remedy, listing: Listing) -> SweepOutcome:
    """Apply a sweep's remedy to a dispatch and wait until the dispatch has ended.

    Returns an outcome whose `failure` is the reason when the dispatch does not end. When it was a finisher that had
    merged before it died, record its merge.
    """
    applied = apply(context, row, remedy, wait=True, listing=listing)
    if not applied.ended:
        return SweepOutcome(failure=applied.why or "it does not answer")
    finish_dead_merge(context, row)  # records a merge that a finisher made before it died
    return SweepOutcome(left=applied.left)


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """What is known of all open claims, read once for all ended dispatches.

    `claims` are those of each dispatch, by its id. `listing` has the tmux panes.
    """

    claims: dict[str, list[Claim]]
    # Project, slug and owning dispatch of each bundle that has claims.
    owners: frozenset[tuple[str, str, str]]
    # Project and slug of each task that has a claim that failed to allocate.
    unmade: frozenset[tuple[str | None, str | None]]
    listing: Listing

    @classmethod
    def of(cls, context: Context) -> _Snapshot:
        """Read the claims and bundles from the store, and the panes from tmux."""
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


def _sweep_ended(context: Context, *, acts: bool) -> Iterator[Swept]:
    """Release what ended dispatches still hold, and archive the journals of those that hold nothing.

    Without `acts`, only report them.
    """
    snapshot = _Snapshot.of(context)
    for row in _dispatches_by_end(context, ended=True):
        if not is_own(context, row) and row.id not in snapshot.claims:
            continue  # the home that owns the dispatch archives it
        finding = _sweep_ended_dispatch(context, row, snapshot, acts=acts)
        if finding is not None:
            yield finding


def _sweep_ended_dispatch(context: Context, row: Dispatch, snapshot: _Snapshot, *, acts: bool) -> Swept | None:
    """Return the finding about one ended dispatch; None when it holds only the bundle of its task.

    With `acts`, release what it holds, or archive it.
    """
    what = describe_dispatch(row)
    proof = f"it has ended: {row.exec_state}"
    claims = snapshot.claims.get(row.id, [])
    if row.blocked_reason == HANDED_OFF and context.store.read(lambda rows: is_handed_over(rows, row.id)):
        claims = [claim for claim in claims if claim.kind != "coord_prompt_inbox"]
    if claims:
        standing = _why_claims_kept(context, claims, snapshot.listing, acts=acts)
        if standing:
            return Swept(what=what, why=standing, proof=proof, action="left alone", standing=True)
        names = ", ".join(str(claim) for claim in claims)
        return act_on(what, f"it has ended and still holds {names}", proof, "release them", acts,
                      lambda: reclaim(context, row.id))  # fmt: skip
    if row.recl_state == "complete":
        why = "it is reclaimed and not archived"
        return act_on(what, why, proof, "archive it", acts, lambda: archive(context, row.id))
    if (row.project, row.slug, row.id) in snapshot.owners:
        if (row.project, row.slug) not in snapshot.unmade:
            return None
        why = "a claim that failed to allocate was not undone"
        return act_on(what, why, proof, "undo it", acts, lambda: reclaim(context, row.id))
    return act_on(what, "it holds nothing any more", proof, "archive it", acts, lambda: reclaim(context, row.id))


def _why_claims_kept(context: Context, claims: list[Claim], listing: Listing, *, acts: bool) -> str:
    """Return why the sweep leaves an ended dispatch's claims alone; "" when it should try to release them.

    A claim whose release failed before is tried again with `acts`; without it, its failures are the reason.
    """
    stuck = [why for why in (_why_stuck(context, claim, listing) for claim in claims) if why]
    if len(stuck) == len(claims):
        return "; ".join(stuck)
    blocked = [claim for claim in claims if claim.state == "releasing_blocked"]
    return f"{blocked[0]} could not be released {blocked[0].failures} times" if blocked and not acts else ""


def _why_stuck(context: Context, claim: Claim, listing: Listing) -> str:
    """Return why a claim of an ended dispatch, or of a bundle, cannot be released; "" when it can."""
    if not is_own(context, claim):
        return f"{claim} belongs to {owner_of(context, claim)}; {disown_hint(claim.dispatch or 'ID')}"
    kind = KINDS.get(claim.kind)
    if kind is None:
        return f"{claim} is of an unknown kind"
    if not claim.is_live and not is_free(context, claim):
        return f"{claim} is being made or released by {claim.actor_text}"
    state = (
        kind.look_in_listing(claim, listing, context.world)
        if isinstance(kind, TmuxSession)
        else kind.look(claim, context.world)
    )
    return f"{claim} is {state}" if state in {"unknown", "foreign"} else ""


def _sweep_long_ended_tasks(context: Context, *, acts: bool) -> Iterator[Swept]:
    """Archive tasks that failed or were abandoned longer ago than the setting `task.archive_after`.

    Without `acts`, only report them. Done tasks are left out, because a merge archives them; so are the tasks of jobs.
    """
    now = context.world.clock.now()
    for project in [row.name for row in context.store.read(q.all_projects)]:
        try:
            before = now - duration(context.settings(project).task_archive_after)
        except errors.FleetError as error:
            yield Swept(what=f"the ended tasks of {project}", why="their age cannot be judged", proof=str(error),
                        action="left alone", standing=True)  # fmt: skip
            continue
        for row in context.store.read(lambda rows: q.long_ended_tasks(rows, project=project, before=before)):  # noqa: B023
            why = f"{row.status} {age(now - row.ended_at)} ago"
            yield act_on(f"task {project}/{row.slug}", why, "its task.archive_after is over", "archive it", acts,
                         lambda: context.commit(archive_long_ended(project=project, slug=row.slug, before=before)))  # fmt: skip # noqa: B023


def _sweep_bundles(context: Context, *, acts: bool) -> Iterator[Swept]:
    """Yield a finding for each archived task's worktree and folder that no agent uses. With `acts`, release them."""
    lone = [Claim.of(row) for row in context.store.read(q.lone_claims)]
    tasks = dict.fromkeys((claim.project or "", claim.slug or "") for claim in lone)
    listing = context.world.tmux.listing()
    for project, slug in tasks:
        if not is_bundle_releasable(context, project, slug):
            continue  # an agent still works in it
        claims = [claim for claim in lone if (claim.project, claim.slug) == (project, slug)]
        what, proof = f"the bundle of {project}/{slug}", "the task is ended and archived"
        stuck = [why for why in (_why_kept(context, claim, listing) for claim in claims) if why]
        if stuck:
            yield Swept(what=what, why="; ".join(stuck), proof=proof, action="kept", standing=True)
        else:
            yield act_on(what, "nobody needs it any more", proof, f"release it{_ignored_files_note(context, claims)}", acts,
                         lambda: _release_bundle(context, project, slug))  # fmt: skip # noqa: B023


def _ignored_files_note(context: Context, claims: list[Claim]) -> str:
    """Return the words that tell how many ignored files move to the trash before the release; "" when there are none."""
    counts = [aside.files for aside in (verdict(context, claim) for claim in claims) if isinstance(aside, Aside)]
    return f", {sum(counts)} ignored files put aside before" if counts else ""


def _release_bundle(context: Context, project: str, slug: str) -> SweepOutcome:
    """Release a task's bundle. Returns what could not be released, and which files were moved to the trash."""
    left = release_bundle(context, project, slug)
    return SweepOutcome(left=left, aside=[] if left else trash.describe_trash(context, project, slug))


def _sweep_gone_bundles(context: Context, *, acts: bool) -> Iterator[Swept]:
    """Release the claims on worktrees and folders that somebody has removed; without `acts`, only report them."""
    for row in context.store.read(q.open_claims):
        claim = Claim.of(row)
        gone = claim.slug is not None and claim.is_live and not os.path.lexists(claim.name)
        if gone and is_own(context, claim):
            yield act_on(str(claim), "it is gone", "nothing is at its path", "record that", acts,
                         lambda: [*filter(None, [release(context, claim)])])  # fmt: skip # noqa: B023


def _why_kept(context: Context, claim: Claim, listing: Listing) -> str:
    """Return why a claim of a bundle is kept, such as uncommitted work; "" when it may be released."""
    return _why_stuck(context, claim, listing) or why_kept(context, claim)


def _sweep_coord_states(context: Context, *, acts: bool) -> Iterator[Swept]:
    """Rewrite each coord-state.json that differs from the store; without `acts`, only report it.

    The report is `waiting`, not a fault, when entries are only missing, or when the project's coordinator rewrites the
    file at its next tick.
    """
    coordinated = {seat.project for seat in context.store.read(q.all_seats) if seat.holder}
    for project, stale in reconcile_coord_state(context, write=acts).items():
        why = "entries are missing" if stale == "incomplete" else "it differs from the store"
        yield Swept(what=paths.coord_state(project), why=why, proof="computed anew",
                    action="rewritten" if acts else "would rewrite it", done=acts,
                    waiting=not acts and (stale == "incomplete" or project in coordinated))  # fmt: skip


def _sweep_journal_archive(context: Context, *, acts: bool) -> Iterator[Swept]:
    """Delete the oldest journals when the archive is too large; without `acts`, only report that."""
    names = journal_archive.journals_over_limit(context)
    if names:
        yield act_on(paths.JOURNALS, f"it is larger than {journal_archive.MOST_BYTES // 1_000_000} MB", "the sizes of its files",
                     f"remove the {len(names)} oldest journals", acts, lambda: journal_archive.remove_journals(context, names))  # fmt: skip


def _stop_empty_server(context: Context) -> None:
    """Stop this home's tmux server when it has no sessions.

    Do nothing while a dispatch of this home is unfinished, or while another process holds the gate for tmux.
    """
    if any(is_own(context, row) for row in _dispatches_by_end(context, ended=False)):
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
