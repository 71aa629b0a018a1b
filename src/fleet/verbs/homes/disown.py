"""Disown a dispatch or job: a person says that its home or machine no longer exists.

The dispatch ends, its work is kept, another agent can continue its task, and this home takes the journal over. Only
rows change: claims of the other home are given up. Refused while a process of the dispatch lives, and when this home
can prove its death and settle it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import names
from fleet.model.dispatch import claim_steps as life
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.settling import Outcome
from fleet.model.dispatch.steps import EXEC_STEPS, INTERRUPTED, is_pending, is_unfinished
from fleet.model.identity import Identity
from fleet.model.results.dispatches import Disowned, DisownedDispatch
from fleet.model.tables import change
from fleet.model.text.times import duration
from fleet.resources import KINDS
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.dispatch.journal import dispatch_or_none
from fleet.verbs.dispatch.settle import settle_task
from fleet.verbs.homes.ownership import is_own, note_home, owner_of
from fleet.world.home import home_record

if TYPE_CHECKING:
    from fleet.model.states import ExecState, ReportState
    from fleet.store.queries import Dispatch, Job
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context


def disown(context: Context, ident: str, reason: str) -> DisownedDispatch:
    """End a dispatch, or take over an ended dispatch or a job, because its home or machine no longer exists.

    `ident` is the id of the dispatch or of the job. Only the database is changed. Raise NotDisowned when a process or
    the tmux session of the dispatch lives on this machine, when this home made the dispatch or job and can end it
    itself, or when another home on this machine made it.
    """
    job = context.store.read(lambda rows: q.job_by_id(rows, id=ident))
    if job is not None:
        _refuse_own(context, job)
        _refuse_local_home(context, job)
        return context.commit(_take_over_job(context, job, reason))
    row = context.dispatch(ident)
    _refuse_alive(context, row)
    plan = _plan_claims(context, row)
    if not _is_unjudgeable(context, row, stuck=bool(plan)):
        _refuse_own(context, row)
    _refuse_local_home(context, row)
    return context.commit(_disown_dispatch(context, row, plan, reason))


def _refuse_alive(context: Context, row: Dispatch) -> None:
    """Raise NotDisowned when the dispatch's process, marked descendants or tmux session are alive on this machine."""
    ident, processes = row.id, context.world.processes
    who = Identity.parse(row.process or row.spawner or "")
    unfinished = is_unfinished(row)
    alive = [who] if who is not None and unfinished and processes.may_live(who) else []
    alive += processes.of_dispatch(ident)
    if alive:
        pids = ", ".join(str(process.pid) for process in dict.fromkeys(alive))
        advice = f"end it first, with `fleet kill {ident} --reason TEXT` in its own home"
        raise errors.NotDisowned(dispatch=ident, why=f"it is alive here: process {pids}", advice=advice)
    pane = context.world.tmux.listing().pane_of(row.id)
    if pane is not None and not pane.dead:
        raise errors.NotDisowned(
            dispatch=ident, why="its tmux session is here", advice=f"`fleet attach {ident}` shows it"
        )


def _is_unjudgeable(context: Context, row: Dispatch, *, stuck: bool) -> bool:
    """Return whether this home cannot prove an unfinished dispatch alive or dead.

    For an ended dispatch return `stuck`: whether it has claims that only a person can give up or free.
    """
    if not is_unfinished(row):
        return stuck
    who = Identity.parse(row.process or row.spawner or "")
    return who is not None and context.world.processes.life(who) == "unknown"


def _refuse_own(context: Context, row: Dispatch | Job) -> None:
    """Raise NotDisowned for a dispatch or job that this home made: `fleet kill` and `fleet clean` can end it."""
    if is_own(context, row):
        advice = f"`fleet kill {row.id} --reason TEXT` ends it, `fleet clean` releases what it held"
        raise errors.NotDisowned(dispatch=row.id, why="it is this home's, and can be judged here", advice=advice)


def _refuse_local_home(context: Context, row: Dispatch | Job) -> None:
    """Raise NotDisowned for a dispatch or job of another home on this machine: the person has to act in that home."""
    place = "" if is_own(context, row) else _path_of_local_home(context, row)
    if place:
        why, advice = f"its home {place} is on this machine", f"act there, with FLEET_HOME={place}"
        raise errors.NotDisowned(dispatch=row.id, why=why, advice=advice)


def _path_of_local_home(context: Context, row: Dispatch | Job) -> str:
    """Return the path of the home that made a dispatch or job, if that home is on this machine; else ""."""
    known = context.store.read(lambda rows: q.home_by_id(rows, id=row.home or ""))
    if known is None:
        if row.home is not None or not isinstance(row, q.Dispatch) or row.host != context.world.host.id:
            return ""
        return os.path.dirname(row.tmux_socket) if os.path.lexists(row.tmux_socket) else ""
    if known.machine != context.world.host.machine_id:
        return ""
    record = home_record.read(known.path)
    return known.path if record is not None and record.id == known.id else ""


def _plan_claims(context: Context, row: Dispatch) -> list[tuple[Claim, str]]:
    """Return the claims that disowning a dispatch changes, each with "given up" or "freed".

    A claim is freed from the process that worked on it when nobody can tell whether that process lives.
    """
    held = context.store.read(lambda rows: q.claims_of_dispatch(rows, dispatch=row.id))
    place = {"project": row.project, "slug": row.slug or ""}
    bundle = context.store.read(lambda rows: q.bundle_of(rows, **place))
    if bundle is not None and bundle.owner == row.id:
        held += context.store.read(lambda rows: q.claims_of_bundle(rows, **place))
    claims = [claim for claim in map(Claim.of, held) if not claim.is_released]
    return [(claim, what) for claim in claims if (what := _step_for_claim(context, claim))]


def _step_for_claim(context: Context, claim: Claim) -> str:
    """Return what disowning does to a claim: "given up", "freed", or "" for nothing.

    A claim that this home cannot release is given up. Any other claim is freed from the process that worked on it, if
    nobody can tell whether that process lives.
    """
    if not is_own(context, claim):
        return "given up"
    if claim.kind == "tmux_session" and KINDS[claim.kind].look(claim, context.world) == "unknown":
        return "given up"
    unknown = claim.who is not None and context.world.processes.life(claim.who) == "unknown"
    return "freed" if unknown else ""


def _disown_dispatch(
    context: Context, row: Dispatch, plan: list[tuple[Claim, str]], reason: str
) -> Change[DisownedDispatch]:
    """Return the change that ends a dispatch, gives up or frees its claims, and makes the dispatch this home's own."""
    ident, settings = row.id, context.settings()
    most, cooldown = settings.limits_failed_spawns, duration(settings.spawn_cooldown)
    was = owner_of(context, row)

    def work(tx: Tx) -> DisownedDispatch:
        tx.about(row.project, row.slug)
        tx.dispatch = ident
        note_home(tx, context.world)
        state = _end_dispatch(tx, row, f"{INTERRUPTED}: disowned: {reason}", (most, cooldown))
        for claim, what in plan:
            if what == "given up":
                q.step_claim(tx, id=claim.id, **change(life.STEPS, claim.state, "given_up"), at=tx.at)
            else:
                q.clear_actor(tx, id=claim.id, was=claim.actor, at=tx.at)
        world = context.world
        q.take_over_dispatch(tx, id=ident, home=world.record.id, host=world.host.id, socket=world.tmux.socket, at=tx.at)
        tx.note(disowned=was, reason=reason, claims=[f"{claim}: {what}" for claim, what in plan])
        return DisownedDispatch(
            id=ident, exec_state=state, was=was, claims=[str(claim) for claim, _what in plan], left=[]
        )

    return Change(f"disown {ident}: {reason}", work, returns=DisownedDispatch)


def _end_dispatch(tx: Tx, row: Dispatch, why: str, spawns: tuple[int, int]) -> ExecState:
    """End an unfinished dispatch and settle its task; leave an ended dispatch as it is. Returns the dispatch's state.

    The dispatch ends as failed when it was never launched, else as blocked, with `why` as the reason. `spawns` are the
    settings limits.failed_spawns and spawn_cooldown (milliseconds).
    """
    if not is_unfinished(row):
        return row.exec_state
    state: ReportState = "failed" if is_pending(row) else "blocked"
    stepped = change(EXEC_STEPS, row.exec_state, f"settled_{state}")
    if not q.end_dispatch(tx, id=row.id, **stepped, report=row.report, asked_for=row.asked_for,
                          exit_status=None, reason=why, work=None, at=tx.at):  # fmt: skip
        raise errors.Contested(what=f"{row.id} changed meanwhile; try again")
    q.archive_agent(tx, id=row.id, at=tx.at)
    settle_task(tx, row, Outcome(exec_state=state, reason=why), (*spawns, None), None)
    return state


def _take_over_job(context: Context, job: Job, reason: str) -> Change[DisownedDispatch]:
    """Return the change that makes a job this home's own.

    The job's open claims of the other home are marked as given up: nothing is released.
    """
    was = owner_of(context, job)
    held = context.store.read(lambda rows: q.open_claims_of_job(rows, job=job.id))
    claims = [claim for claim in map(Claim.of, held) if not is_own(context, claim)]

    def work(tx: Tx) -> DisownedDispatch:
        tx.about(job.project)
        note_home(tx, context.world)
        for claim in claims:
            q.step_claim(tx, id=claim.id, **change(life.STEPS, claim.state, "given_up"), at=tx.at)
        q.take_over_job(tx, id=job.id, home=context.world.record.id, at=tx.at)
        tx.note(job=job.id, disowned=was, reason=reason)
        given_up = [str(claim) for claim in claims]
        return DisownedDispatch(id=job.id, exec_state=job.state, was=was, claims=given_up, left=[])

    return Change(f"disown job {job.id}: {reason}", work, returns=DisownedDispatch)


def disown_claim(context: Context, ident: str, kind: str, reason: str) -> Disowned:
    """Give up the claims of one kind that a dispatch or job (`ident`) has and that another home or host made.

    The claimed resources are not touched. Raises Absent when there is no such claim, Refused when this home made one of
    them.
    """
    held = [
        *_claims_of_dispatch(context, names.DispatchId(ident)),
        *_claims_of_bundle(context, ident),
        *_claims_of_job(context, ident),
    ]
    claims = [claim for claim in held if claim.kind == kind and not claim.is_released]
    if not claims:
        raise errors.Absent(what=f"{kind} of {ident}")
    here = [claim for claim in claims if is_own(context, claim)]
    if here:
        word = "job cancel" if here[0].job else "kill"
        raise errors.Refused(what=f"{here[0]} is of this home; `fleet {word} {ident}` and `fleet clean` release it")

    def work(tx: Tx) -> Disowned:
        tx.dispatch = None if claims[0].job else ident
        count = sum(
            q.step_claim(tx, id=claim.id, **change(life.STEPS, claim.state, "given_up"), at=tx.at) for claim in claims
        )
        tx.note(disowned=[str(claim) for claim in claims], reason=reason)
        return Disowned(outcome="disowned", dispatch_id=ident, kind=kind, path=None, count=count)

    return context.commit(Change(f"disown {kind} of {ident}: {reason}", work, returns=Disowned))


def _claims_of_bundle(context: Context, ident: str) -> list[Claim]:
    """Return the unreleased claims of the bundle of a dispatch's task; [] when there is no dispatch with this id."""
    row = dispatch_or_none(context, ident)
    if row is None:
        return []
    held = context.store.read(lambda rows: q.claims_of_bundle(rows, project=row.project, slug=row.slug or ""))
    return [Claim.of(claim) for claim in held]


def _claims_of_job(context: Context, ident: str) -> list[Claim]:
    """Return the unreleased claims of a job."""
    return [Claim.of(claim) for claim in context.store.read(lambda rows: q.open_claims_of_job(rows, job=ident))]


def _claims_of_dispatch(context: Context, ident: str) -> list[Claim]:
    """Return the claims that belong to a dispatch itself, released ones too."""
    return [Claim.of(row) for row in context.store.read(lambda rows: q.claims_of_dispatch(rows, dispatch=ident))]
