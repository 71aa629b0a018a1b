"""Reclaim: release the claims of an ended dispatch according to their classes, then archive its journal."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fleet import errors
from fleet.model.dispatch.branch_marks import mark_of
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.steps import HANDED_OFF, RECL_STEPS, is_unfinished
from fleet.model.dispatch.worktree_verdict import Aside, Go, Keep
from fleet.model.states import assert_never
from fleet.model.tables import change
from fleet.model.text.sizes import shown_size, size
from fleet.records import replace
from fleet.resources import ORDER, RELEASED_AT_END, class_of
from fleet.resources.worktree.verdict import removal_verdict
from fleet.store import bundles
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.dispatch.acquire import release
from fleet.verbs.dispatch.journal import archive
from fleet.verbs.homes.ownership import why_foreign
from fleet.verbs.resume.work_lock import cleanup_gate_of_task
from fleet.verbs.sweep import trash
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.dispatch.worktree_verdict import Verdict
    from fleet.model.states import ClaimState, ReclState
    from fleet.store.queries import Dispatch
    from fleet.store.transaction import Rows, Tx
    from fleet.verbs.context import Context

# How many seconds a project's teardown command may take.
TEARDOWN_LIMIT = 60.0
# How many seconds to wait for a task's work lock.
_GATE_WAIT = 5.0
# The place of each kind in the order of creation; what was made last is released first.
_RELEASE_ORDER = {kind.name: number for number, kind in enumerate(ORDER)}


def reclaim(context: Context, ident: str) -> list[str]:
    """Release what an ended dispatch holds, last made first, and archive the dispatch when it holds nothing any more.

    The task's half-made resources are removed too. Its worktree and folder are released only if this dispatch owns them
    and the task is archived; until then the dispatch is not archived either.

    Returns one line for each resource that could not be released, with the reason. When another home owns the dispatch,
    nothing is done, and one line says so. [] also when nothing is done because the dispatch is unfinished or archived.
    """
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
    if row is None or is_unfinished(row):
        return []
    foreign = why_foreign(context, row)
    if foreign:
        return [f"dispatch {ident}: {foreign}"]
    left: list[str] = [why for why in (release(context, claim) for claim in _claims_to_release(context, ident)) if why]
    if row.slug is not None:
        left += undo_unmade(context, row.project, row.slug)
        left += release_bundle(context, row.project, row.slug) if _is_bundle_owner(context, row, row.slug) else []
    if context.commit(_update_recl_state(ident)) == "complete":
        archive(context, ident)
    return left


def undo_unmade(context: Context, project: str, slug: str) -> list[str]:
    """Remove the half-made resources of a task's bundle, for the next dispatch.

    Returns one line for each resource that could not be removed, with the reason.
    """
    held = context.store.read(lambda rows: q.unmade_of_bundle(rows, project=project, slug=slug))
    return [why for why in (release(context, Claim.of(row)) for row in held) if why]


def _claims_to_release(context: Context, ident: str) -> list[Claim]:
    """Return the claims to release when the dispatch ends, last made first.

    An inbox that the successor will take over is left out.
    """
    rows = context.store.read(lambda snapshot: q.claims_of_dispatch(snapshot, dispatch=ident))
    waits = "coord_prompt_inbox" if context.store.read(lambda snapshot: is_handed_over(snapshot, ident)) else None
    held = [
        claim
        for claim in map(Claim.of, rows)
        if not claim.is_released and class_of(claim.kind) in RELEASED_AT_END and claim.kind != waits
    ]
    return sorted(held, key=lambda claim: -_RELEASE_ORDER.get(claim.kind, 0))


def is_handed_over(rows: Rows, ident: str) -> bool:
    """Return whether a dispatch ended by a handoff whose next agent has not started yet: that agent gets the inbox.

    False for a dispatch without a task.
    """
    entry = q.queued_handoff_of(rows, dispatch=ident)
    row = q.dispatch_by_id(rows, id=ident)
    return entry is not None and row is not None and row.slug is not None and row.blocked_reason == HANDED_OFF


def release_bundle(context: Context, project: str, slug: str) -> list[str]:
    """Release a task's worktree and folder if the task is archived and has no unfinished dispatch.

    Returns one line for each resource that could not be released, with the reason; [] also when nothing was to be
    released. Holds the task's work lock, so that no agent is started in the worktree meanwhile.
    """
    if not is_bundle_releasable(context, project, slug):
        return []
    gate = cleanup_gate_of_task(context, project, slug)
    try:
        gate.take(wait=_GATE_WAIT)
    except errors.GateHeld as held:
        return [f"the bundle of {project}/{slug}: {held}"]
    try:
        return (
            _release_bundle(context, project, slug)
            if is_bundle_releasable(context, project, slug)
            else _needed_again(project, slug)
        )
    finally:
        gate.give()


def _with_project_facts(context: Context, claim: Claim) -> Claim:
    """Return the claim with the facts of its project that the last check before the removal of its resource needs.

    A worktree's claim gets the patterns of disposable files, and the mark of its project's branches if an older version
    recorded the claim without one. Other claims are returned as they are.
    """
    if claim.kind != "worktree":
        return claim
    facts: dict[str, Any] = {"disposable": _disposable_patterns(context, claim)}
    if "branch_mark" not in claim.data and claim.project:
        facts["owner_mark"] = mark_of(context.world.tmux.home_id, context.project(claim.project), claim.data["branch"])
    return replace(claim, data={**claim.data, **facts})


def _needed_again(project: str, slug: str) -> list[str]:
    """Return the line which says that the bundle is kept because somebody opened its task again."""
    return [f"the bundle of {project}/{slug} is needed again: somebody opened its task meanwhile"]


def _release_bundle(context: Context, project: str, slug: str) -> list[str]:
    """Release the bundle's claims, the worktree before the folder. The caller holds the task's work lock.

    Returns one line for each resource that is kept, with the reason.
    """
    held = context.store.read(lambda rows: q.claims_of_bundle(rows, project=project, slug=slug))
    foreign = [f"{claim}: {why}" for claim in map(Claim.of, held) if (why := why_foreign(context, claim))]
    if foreign:
        return foreign
    claims = sorted(map(Claim.of, held), key=lambda claim: -_RELEASE_ORDER.get(claim.kind, 0))
    left: list[str] = []
    for claim in claims:
        why = _prepare_removal(context, claim)
        if not is_bundle_releasable(context, project, slug):
            return [*_needed_again(project, slug), *trash.bring_back(context, claim)]
        why = why or release(context, _with_project_facts(context, claim))
        if why:
            left += [why, *trash.bring_back(context, claim)]
            break  # the folder stays as long as the worktree
    if not left and claims:
        context.commit(_record_bundle_released(project, slug))
    return left


def _prepare_removal(context: Context, claim: Claim) -> str:
    """Run the teardown of a worktree, and move files that cannot be reproduced to the trash.

    Returns why the worktree must stay; "" if it may be removed.
    """
    if claim.kind != "worktree" or claim.is_unmade:
        return ""
    answer = verdict(context, claim)
    if not isinstance(answer, Keep) and _tear_down(context, claim):
        answer = verdict(context, claim)  # the teardown may have left files
    match answer:
        case Keep():
            return answer.reason
        case Aside():
            return trash.put_aside(context, claim, answer)
        case Go():
            return ""
        case _:
            return assert_never(answer)


def why_kept(context: Context, claim: Claim) -> str:
    """Return why a worktree must be kept; "" when it may be removed, perhaps after files are moved to the trash."""
    answer = verdict(context, claim)
    return answer.reason if isinstance(answer, Keep) else ""


def verdict(context: Context, claim: Claim) -> Verdict:
    """Return whether the resource of a claim may be removed: Go, Aside (move files to the trash first) or Keep (with the reason).

    Only a worktree can be kept; for every other kind the answer is Go.
    """
    if claim.kind != "worktree":
        return Go()
    answer = removal_verdict(claim, context.world, disposable=_disposable_patterns(context, claim))
    limit = context.settings().trash_limit
    if isinstance(answer, Aside) and not trash.has_room(context, answer.size, size(limit) or 0):
        what = f"{claim.name} has {answer.files} ignored files ({shown_size(answer.size)}) that may not be reproducible"
        advice = "move them away, name them in worktree.disposable, or raise trash.limit"
        return Keep(reason=f"{what}, and the trash holds no more than {limit}: {advice}", files=answer.paths)
    return answer


def _disposable_patterns(context: Context, claim: Claim) -> list[str]:
    """Return the project's patterns of files that need not be saved (`worktree.disposable`)."""
    return list(context.settings(claim.project).worktree_disposable)


def _tear_down(context: Context, claim: Claim) -> bool:
    """Run the project's teardown command in a worktree before its removal. Returns whether the command was run.

    A failure of the command is ignored. The set-up mark is removed first: if the worktree stays, the next agent sets it
    up again.
    """
    command = _teardown_command(context, claim.project)
    if not command or not claim.is_live or not os.path.isdir(claim.name):
        return False
    context.world.files.unlink(paths.setup_mark(claim.project or "", claim.slug or ""))
    ports = context.store.read(lambda rows: bundles.port_variables(rows, claim.project or "", claim.slug))
    context.world.programs.record(
        "worktree.teardown",
        ["/bin/sh", "-c", command],
        limit=TEARDOWN_LIMIT,
        cwd=claim.name,
        env={**os.environ, **ports},
    )
    return True


def _teardown_command(context: Context, project: str | None) -> str | None:
    """Return the project's command `worktree.teardown`; None when none is set, or no person has trusted it."""
    try:
        command: str | None = context.settings(project).worktree_teardown
    except errors.NotTrusted:
        return None
    return command


def is_bundle_releasable(context: Context, project: str, slug: str) -> bool:
    """Return whether the task is archived and has no unfinished dispatch, so that its worktree may be released."""

    def look(rows: Rows) -> bool:
        """Read the task and its unfinished dispatch in one snapshot, and decide from both."""
        task = q.task_state(rows, project=project, slug=slug)
        at_work = q.unfinished_of_task(rows, project=project, slug=slug)
        return task is not None and bool(task.archived) and at_work is None

    return context.store.read(look)


def _record_bundle_released(project: str, slug: str) -> Change[None]:
    """Return the change that ends the ownership of a task's bundle and deletes the bundle's released claims."""

    def work(tx: Tx) -> None:
        tx.about(project, slug)
        bundle = q.bundle_of(tx, project=project, slug=slug)
        if bundle is not None:
            q.end_adoption(tx, project=project, slug=slug, dispatch=bundle.owner, at=tx.at)
        q.forget_released_of_bundle(tx, project=project, slug=slug)

    return Change(f"the bundle of {project}/{slug} is released", work)


def _update_recl_state(ident: str) -> Change[ReclState | None]:
    """Return the change that sets the dispatch's reclamation state according to the states of its claims.

    Committing it returns the new state; None when another process has archived the dispatch.
    """

    def work(tx: Tx) -> ReclState | None:
        row = q.dispatch_by_id(tx, id=ident)
        if row is None:
            return None
        tx.about(row.project, row.slug)
        tx.dispatch = ident
        states = {held.state for held in q.claims_of_dispatch(tx, dispatch=ident)} - {"released"}
        stepped = change(RECL_STEPS, row.recl_state, _reclaim_event(states, owns=_owns_held_bundle(tx, row)))
        after = stepped["after"]
        if after != row.recl_state:
            q.step_recl(tx, id=ident, **stepped, at=tx.at)
        tx.note(recl_state=after)
        return after

    return Change(f"update the reclamation state of {ident}", work)


def _reclaim_event(states: set[ClaimState], *, owns: bool) -> str:
    """Return the event that moves a dispatch's reclamation state, for the states of its unreleased claims.

    `owns`: whether the dispatch owns its task's bundle, which stays when its other claims are released.
    """
    if "releasing_blocked" in states:
        return "release_blocked"
    if states:
        return "release_failed"
    return "bundle_left" if owns else "all_released"


def _is_bundle_owner(context: Context, row: Dispatch, slug: str) -> bool:
    """Return whether the dispatch owns its task's bundle."""
    bundle = context.store.read(lambda rows: q.bundle_of(rows, project=row.project, slug=slug))
    return bundle is not None and bundle.owner == row.id


def _owns_held_bundle(tx: Tx, row: Dispatch) -> bool:
    """Return whether the dispatch owns its task's bundle, and the bundle still has claims."""
    if row.slug is None:
        return False
    bundle = q.bundle_of(tx, project=row.project, slug=row.slug)
    held = q.claims_on_task(tx, project=row.project, slug=row.slug).n
    return bundle is not None and bundle.owner == row.id and held > 0
