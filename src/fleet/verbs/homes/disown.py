"""Disown: a person says that the home or machine of a dispatch is no more.

The dispatch ends, its work is kept, its task is free, and its journal becomes this home's. Nothing outside is touched: what is of
another home is given up as rows. Refused while anything of it lives, and where its death can be proven instead.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fleet.errors.families import Contested
from fleet.errors.refused import NotDisowned
from fleet.model.dispatch import claim_steps as life
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.settling import INTERRUPTED, Outcome
from fleet.model.dispatch.steps import EXEC_STEPS, is_unfinished
from fleet.model.identity import Identity
from fleet.model.tables import change
from fleet.model.text.times import duration
from fleet.resources import KINDS
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.dispatch.settle import settle_task
from fleet.verbs.homes.ownership import is_own, note_home, owner_of
from fleet.world.home import home_record

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch, Job
    from fleet.store.transaction import Row, Tx
    from fleet.verbs.context import Context

_EVENT = {"pending": "settled_failed", "in_flight": "settled_blocked"}


def disown(context: Context, ident: str, reason: str) -> dict[str, Any]:
    """End a dispatch, or take over an ended one or a job, of a home or machine that is no more."""
    job = context.store.read(lambda rows: q.job_by_id(rows, id=ident))
    if job is not None:
        _refuse_home_here(context, ident, job)
        return context.commit(_take_over_job(context, job, reason))
    row = context.dispatch(ident)
    _refuse_alive(context, row)
    plan = _plan(context, row)
    _refuse_home_here(context, ident, row, stuck=bool(plan))
    return context.commit(_disown(context, row, plan, reason))


def _refuse_alive(context: Context, row: Dispatch) -> None:
    """Refuse what is seen to live: its process, anything that carries its id, its session."""
    ident, processes = row.id, context.world.processes
    who = Identity.parse(row.process or row.spawner or "")
    unfinished = is_unfinished(row)
    alive = [who] if who is not None and unfinished and processes.may_live(who) else []
    alive += processes.of_dispatch(ident)
    if alive:
        pids = ", ".join(str(each.pid) for each in dict.fromkeys(alive))
        advice = f"end it first, with `fleet kill {ident} --reason TEXT` in its own home"
        raise NotDisowned(dispatch=ident, why=f"it is alive here: process {pids}", advice=advice)
    pane = context.world.tmux.listing().pane_of(row.id)
    if pane is not None and not pane.dead:
        raise NotDisowned(dispatch=ident, why="its tmux session is here", advice=f"`fleet attach {ident}` shows it")


def _refuse_home_here(context: Context, ident: str, row: Job, *, stuck: bool = False) -> None:
    """Refuse what can be judged: by this home, or by another one that is on this machine.

    Stuck: an ended dispatch of this home holds something of which nothing can be proven here.
    """
    if is_own(context, row):
        who = Identity.parse(row.get("process") or row.get("spawner") or "")
        unknown = context.world.processes.life(who) == "unknown" and who is not None
        if unknown if row.get("exec_state") and is_unfinished(row) else stuck:
            return
        advice = f"`fleet kill {ident} --reason TEXT` ends it, `fleet clean` lets go of what it held"
        raise NotDisowned(dispatch=ident, why="it is this home's, and can be judged here", advice=advice)
    place = _home_here(context, row)
    if place:
        raise NotDisowned(
            dispatch=ident, why=f"its home {place} is on this machine", advice=f"act there, with FLEET_HOME={place}"
        )


def _home_here(context: Context, row: Job) -> str:
    """The path of its home, if that is on this machine; else empty."""
    known = context.store.read(lambda rows: q.home_by_id(rows, id=row.get("home") or ""))
    if known is None:
        socket = row.get("tmux_socket") or ""
        same = row.get("home") is None and row.get("host") == context.world.host.id
        return os.path.dirname(socket) if same and os.path.lexists(socket) else ""
    if known.machine != context.world.host.machine:
        return ""
    record = home_record.read(known.path)
    return str(known.path) if record is not None and record.id == known.id else ""


def _plan(context: Context, row: Dispatch) -> list[tuple[Claim, str]]:
    """What becomes of each claim: given up as a row, or, if it is of this home, freed from hands that nobody can judge."""
    held = context.store.read(lambda rows: q.claims_of_dispatch(rows, dispatch=row.id))
    place = {"project": row.project, "slug": row.slug or ""}
    bundle = context.store.read(lambda rows: q.bundle_of(rows, **place))
    if bundle is not None and bundle.owner == row.id:
        held += context.store.read(lambda rows: q.claims_of_bundle(rows, **place))
    claims = [claim for claim in map(Claim.of, held) if claim.state != "released"]
    return [(claim, what) for claim in claims if (what := _step_of(context, claim))]


def _step_of(context: Context, claim: Claim) -> str:
    if not is_own(context, claim):
        return "given up"
    if claim.kind == "tmux_session" and KINDS[claim.kind].look(claim, context.world) == "unknown":
        return "given up"
    unknown = claim.who is not None and context.world.processes.life(claim.who) == "unknown"
    return "freed" if unknown else ""


def _disown(context: Context, row: Dispatch, plan: list[tuple[Claim, str]], reason: str) -> Change[Row]:
    ident, settings = row.id, context.settings(None)
    most, cooldown = settings["limits.failed_spawns"].value, duration(settings["spawn_cooldown"].value)
    was = owner_of(context, row)

    def work(tx: Tx) -> Row:
        tx.about(row.project, row.slug)
        tx.dispatch = ident
        note_home(tx, context.world)
        state = _end(tx, row, f"{INTERRUPTED}: disowned: {reason}", (most, cooldown))
        for claim, what in plan:
            if what == "given up":
                q.step_claim(tx, id=claim.id, **change(life.STEPS, claim.state, "given_up"), at=tx.at)
            else:
                q.clear_actor(tx, id=claim.id, was=claim.actor, at=tx.at)
        world = context.world
        q.take_over_dispatch(tx, id=ident, home=world.record.id, host=world.host.id, socket=world.tmux.socket, at=tx.at)
        tx.note(disowned=was, reason=reason, claims=[f"{claim}: {what}" for claim, what in plan])
        return {"id": ident, "exec_state": state, "was": was, "claims": [str(claim) for claim, _what in plan]}

    return Change(f"disown {ident}: {reason}", work)


def _end(tx: Tx, row: Dispatch, why: str, spawns: tuple[int, int]) -> str:
    """End it as the table of states allows, and give its task back. One that has ended stays as it is."""
    if not is_unfinished(row):
        return str(row.exec_state)
    stepped = change(EXEC_STEPS, row.exec_state, _EVENT[row.exec_state])
    found = Outcome(exec_state=stepped["after"], reason=why)
    kept = {name: row[name] for name in ("report", "asked_for")}
    if not q.end_dispatch(tx, id=row.id, **stepped, **kept,
                  exit_status=None, reason=why, work=None, at=tx.at):  # fmt: skip
        raise Contested(what=f"{row.id} changed meanwhile; try again")
    q.archive_agent(tx, id=row.id, at=tx.at)
    settle_task(tx, row, found, (*spawns, None), None)
    return found.exec_state


def _take_over_job(context: Context, job: Job, reason: str) -> Change[Row]:
    was = owner_of(context, job)
    held = context.store.read(lambda rows: q.open_claims_of_job(rows, job=job.id))
    claims = [claim for claim in map(Claim.of, held) if not is_own(context, claim)]

    def work(tx: Tx) -> Row:
        tx.about(job.project)
        note_home(tx, context.world)
        for claim in claims:
            q.step_claim(tx, id=claim.id, **change(life.STEPS, claim.state, "given_up"), at=tx.at)
        q.take_over_job(tx, id=job.id, home=context.world.record.id, at=tx.at)
        tx.note(job=job.id, disowned=was, reason=reason)
        return {"id": job.id, "exec_state": job.state, "was": was, "claims": [str(each) for each in claims]}

    return Change(f"disown job {job.id}: {reason}", work)
