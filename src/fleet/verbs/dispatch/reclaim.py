"""Reclaim: release what an ended dispatch held, as the class of each thing demands; then archive its journal."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, assert_never

from fleet.errors.contested import GateHeld
from fleet.errors.refused import NotTrusted
from fleet.model.dispatch.branch_marks import mark_of
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.settling import HANDED_OFF
from fleet.model.dispatch.steps import RECL_STEPS, is_unfinished
from fleet.model.dispatch.worktree_verdict import Aside, Go, Keep
from fleet.model.tables import change
from fleet.model.text.sizes import shown_size, size
from fleet.model.text.times import iso, iso_or_none
from fleet.resources import ORDER, RELEASED_AT_END, class_of
from fleet.resources.worktree.half_made import UNMADE
from fleet.resources.worktree.verdict import may_go
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.dispatch.acquire import release
from fleet.verbs.homes.ownership import why_foreign
from fleet.verbs.resume.work_lock import gate_to_let_go
from fleet.verbs.sweep import trash
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.dispatch.worktree_verdict import Verdict
    from fleet.store.queries import Claim, Dispatch
    from fleet.store.transaction import Row, Rows, Tx
    from fleet.verbs.context import Context

TEARDOWN_LIMIT = 60.0
_GATE_WAIT = 5.0
_PLACE = {kind.name: number for number, kind in enumerate(ORDER)}
_TIMES = ("created_at", "updated_at", "launched_at", "ended_at", "reported_at", "asked_at")


def reclaim(context: Context, ident: str) -> list[str]:
    """Release in reverse order. What is left, and why."""
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
    if row is None or is_unfinished(row):
        return []
    foreign = why_foreign(context, row)
    if foreign:
        return [f"dispatch {ident}: {foreign}"]
    left = [why for why in (release(context, claim) for claim in _due(context, ident)) if why]
    if row.slug is not None:
        left += undo_unmade(context, row.project, row.slug)
        left += release_bundle(context, row.project, row.slug) if _is_owner(context, row) else []
    event = context.commit(_judge(ident))["recl_state"]
    if event == "complete":
        archive(context, ident)
    return left


def undo_unmade(context: Context, project: str, slug: str) -> list[str]:
    """What could not be made of a task's bundle is undone, so that the next dispatch can make it anew."""
    held = context.store.read(lambda rows: q.unmade_of_bundle(rows, project=project, slug=slug))
    return [why for why in (release(context, Claim.of(row)) for row in held) if why]


def _due(context: Context, ident: str) -> list[Claim]:
    """What is to be released, last made first. An inbox that is to be handed over waits for its successor."""
    rows = context.store.read(lambda snapshot: q.claims_of_dispatch(snapshot, dispatch=ident))
    waits = "coord_prompt_inbox" if context.store.read(lambda snapshot: is_handed_over(snapshot, ident)) else None
    held = [
        claim
        for claim in map(Claim.of, rows)
        if claim.state != "released" and class_of(claim.kind) in RELEASED_AT_END and claim.kind != waits
    ]
    return sorted(held, key=lambda claim: -_PLACE.get(claim.kind, 0))


def is_handed_over(rows: Rows, ident: str) -> bool:
    """Whether a successor on the same task is to take over what it was told."""
    entry = q.queued_handoff_of(rows, dispatch=ident)
    row = q.dispatch_by_id(rows, id=ident)
    return entry is not None and row is not None and row.slug is not None and row.blocked_reason == HANDED_OFF


def release_bundle(context: Context, project: str, slug: str) -> list[str]:
    """A task's worktree and directory go when the task is terminal and archived, and nobody works in them.

    Behind the gate of its work, so that no agent can be started in them meanwhile.
    """
    if not is_bundle_releasable(context, project, slug):
        return []
    gate = gate_to_let_go(context, project, slug)
    try:
        gate.take(wait=_GATE_WAIT)
    except GateHeld as held:
        return [f"the bundle of {project}/{slug}: {held}"]
    try:
        return (
            _release_bundle(context, project, slug)
            if is_bundle_releasable(context, project, slug)
            else _needed(project, slug)
        )
    finally:
        gate.give()


def _with_facts(context: Context, claim: Claim) -> Claim:
    """The claim of a worktree with what its project calls disposable: whoever removes it asks once more whether it may go.

    One from before branches were marked gets the mark of its project's branches too.
    """
    if claim.kind != "worktree":
        return claim
    facts: dict[str, Any] = {"disposable": _disposable(context, claim)}
    if "branch_mark" not in claim.data and claim.project:
        facts["owner_mark"] = mark_of(context.world.tmux.home_id, context.project(claim.project), claim.data["branch"])
    return replace(claim, data={**claim.data, **facts})


def _needed(project: str, slug: str) -> list[str]:
    return [f"the bundle of {project}/{slug} is needed again: somebody opened its task meanwhile"]


def _release_bundle(context: Context, project: str, slug: str) -> list[str]:
    held = context.store.read(lambda rows: q.claims_of_bundle(rows, project=project, slug=slug))
    foreign = [f"{claim}: {why}" for claim in map(Claim.of, held) if (why := why_foreign(context, claim))]
    if foreign:
        return foreign
    claims = sorted(map(Claim.of, held), key=lambda claim: -_PLACE.get(claim.kind, 0))
    left: list[str] = []
    for claim in claims:
        why = _make_ready(context, claim)
        if not is_bundle_releasable(context, project, slug):
            return [*_needed(project, slug), *trash.bring_back(context, claim)]
        why = why or release(context, _with_facts(context, claim))
        if why:
            left += [why, *trash.bring_back(context, claim)]
            break  # the directory stays with the tree
    if not left and claims:
        context.commit(_bundle_gone(project, slug))
    return left


def _make_ready(context: Context, claim: Claim) -> str:
    """Make a worktree ready to go: tear it down, put aside what may not be reproducible. Why it stays; its claim is not touched then."""
    if claim.kind != "worktree" or claim.state in UNMADE:
        return ""
    why = why_kept(context, claim)
    if why:
        return why
    _tear_down(context, claim)
    found = verdict(context, claim)  # once more: the teardown may have left something
    match found:
        case Keep():
            return found.reason
        case Aside():
            return trash.put_aside(context, claim, found)
        case Go():
            return ""
        case _:
            assert_never(found)


def why_kept(context: Context, claim: Claim) -> str:
    """Why a worktree must not go; empty when it may, perhaps after some ignored files were put aside."""
    found = verdict(context, claim)
    return found.reason if isinstance(found, Keep) else ""


def verdict(context: Context, claim: Claim) -> Verdict:
    """Whether a worktree may go, by the settings of its project and with the room that the trash has."""
    if claim.kind != "worktree":
        return Go()
    found = may_go(claim, context.world, disposable=_disposable(context, claim))
    limit = context.setting("trash.limit")
    if isinstance(found, Aside) and not trash.has_room(context, found.size, size(limit) or 0):
        what = f"{claim.name} has {found.files} ignored files ({shown_size(found.size)}) that may not be reproducible"
        advice = "move them away, name them in worktree.disposable, or raise trash.limit"
        return Keep(reason=f"{what}, and the trash holds no more than {limit}: {advice}", files=found.paths)
    return found


def _disposable(context: Context, claim: Claim) -> list[str]:
    return list(context.setting("worktree.disposable", claim.project))


def _tear_down(context: Context, claim: Claim) -> None:
    """Run the project's teardown command, once, in a worktree that is about to go. Whatever it does, it cannot hold the release up.

    If the tree stays after all, the next agent in it gets it set up again.
    """
    told = _teardown(context, claim.project)
    if told and claim.state == "live" and os.path.isdir(claim.name):
        context.world.files.unlink(paths.setup_mark(claim.project or "", claim.slug or ""))
        context.world.programs.record(
            "worktree.teardown", ["/bin/sh", "-c", told], limit=TEARDOWN_LIMIT, cwd=claim.name
        )


def _teardown(context: Context, project: str | None) -> str | None:
    """The command, if there is one that was trusted: another one is not run, and nothing waits for it."""
    try:
        found: str | None = context.setting("worktree.teardown", project)
    except NotTrusted:
        return None
    return found


def is_bundle_releasable(context: Context, project: str, slug: str) -> bool:
    """Whether the task is archived and has no unfinished dispatch, so that its worktree may be released."""

    def look(rows: Rows) -> bool:
        task = q.task_state(rows, project=project, slug=slug)
        at_work = q.unfinished_of_task(rows, project=project, slug=slug)
        return task is not None and bool(task.archived) and at_work is None

    return context.store.read(look)


def _bundle_gone(project: str, slug: str) -> Change[Row]:
    def work(tx: Tx) -> Row:
        tx.about(project, slug)
        bundle = q.bundle_of(tx, project=project, slug=slug)
        if bundle is not None:
            q.end_adoption(tx, project=project, slug=slug, dispatch=bundle.owner, at=tx.at)
        q.forget_released_of_bundle(tx, project=project, slug=slug)
        return {"released": True}

    return Change(f"the bundle of {project}/{slug} is released", work)


def _judge(ident: str) -> Change[Row]:
    """The reclamation state that follows from the claims, and from nothing else."""

    def work(tx: Tx) -> Row:
        row = q.dispatch_by_id(tx, id=ident)
        if row is None:
            return {"recl_state": "archived"}  # somebody else was faster
        tx.about(row.project, row.slug)
        tx.dispatch = ident
        states = {each.state for each in q.claims_of_dispatch(tx, dispatch=ident)} - {"released"}
        stepped = change(RECL_STEPS, row.recl_state, _event(states, owns=_owns_bundle(tx, row)))
        after = stepped["after"]
        if after != row.recl_state:
            q.step_recl(tx, id=ident, **stepped, at=tx.at)
        tx.note(recl_state=after)
        return {"recl_state": after}

    return Change(f"judge what {ident} still holds", work)


def _event(states: set[str], *, owns: bool) -> str:
    """What the states of the claims that it still holds mean for its reclamation."""
    if "releasing_blocked" in states:
        return "release_blocked"
    if states:
        return "release_failed"
    return "bundle_left" if owns else "all_released"


def _is_owner(context: Context, row: Dispatch) -> bool:
    bundle = context.store.read(lambda rows: q.bundle_of(rows, project=row.project, slug=row.slug))
    return bundle is not None and bundle.owner == row.id


def _owns_bundle(tx: Tx, row: Dispatch) -> bool:
    if row.slug is None:
        return False
    bundle = q.bundle_of(tx, project=row.project, slug=row.slug)
    held = q.claims_on_task(tx, project=row.project, slug=row.slug)
    return bundle is not None and bundle.owner == row.id and bool(held and held.n)


def archive(context: Context, ident: str) -> str:
    """The journal of a finished, fully reclaimed dispatch leaves the tables: file first, synced; rows after.

    The file is named after the moment it was complete: whoever does this at the same time, or again, writes the same file.
    """
    row, document = context.store.read(lambda rows: (q.dispatch_by_id(rows, id=ident), journal(rows, ident)))
    if row is None:
        return ""
    name = f"{paths.JOURNALS}/{ident}-{row.updated_at}.json"
    context.world.files.publish(name, json.dumps(document, indent=2, ensure_ascii=False).encode())
    context.commit(_forget(ident))
    return name


def journal(rows: Rows, ident: str) -> dict[str, Any]:
    """A dispatch with its claims inline, in the documents' shape; empty when it is not in the tables."""
    row = q.dispatch_by_id(rows, id=ident)
    if row is None:
        return {}
    shown = {name: iso_or_none(value) if name in _TIMES else value for name, value in row.items()}
    claims = [claim_document(each) for each in q.claims_of_dispatch(rows, dispatch=ident)]
    agent = q.agent_by_id(rows, id=ident)
    if agent:
        state = "live" if agent.archived_at is None else "archived"
        claims.append(
            {"class": "exclusive", "kind": "agent_record", "state": state, "data": {"session": agent.session}}
        )
    return shown | {"host_id": row.host, "claims": claims, "adoptions": _adoptions(rows, row)}


def _adoptions(rows: Rows, row: Dispatch) -> list[dict[str, Any]]:
    """Who had the task's bundle, oldest first."""
    had = q.adoptions_of(rows, project=row.project, slug=row.slug or "")
    return [{**each, "adopted_at": iso(each.adopted_at), "released_at": iso_or_none(each.released_at)} for each in had]


def claim_document(row: Claim) -> dict[str, Any]:
    """A claim as journals show it."""
    data = {**json.loads(row.data), "name": row.name, "actor": row.actor, "failures": row.failures}
    return {"class": class_of(row.kind), "kind": row.kind, "state": row.state, "data": data}


def _forget(ident: str) -> Change[Row]:
    def work(tx: Tx) -> Row:
        tx.dispatch = ident
        row, agent = q.dispatch_by_id(tx, id=ident), q.agent_by_id(tx, id=ident)
        if row is not None:
            tx.about(row.project, row.slug)
        q.forget_claims(tx, id=ident)
        q.forget_agent(tx, id=ident)
        gone = q.forget_dispatch(tx, id=ident)
        tx.note(archived=gone == 1)
        if agent is not None and gone:
            tx.note(tokens=agent.tokens, cost=agent.cost)  # what `fleet recap` adds up
        return {"archived": gone == 1}

    return Change(f"archive {ident}", work)
