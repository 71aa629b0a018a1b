"""Resume: continue the work of an agent that ended before it was finished.

A resume takes the work lock, settles the earlier dispatch, and makes a new dispatch that adopts the bundle: the same
worktree, and the same conversation if the engine can continue it. An agent that is or may be alive is never resumed.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from fleet import errors
from fleet.engines import prompt
from fleet.engines.reader import engine as read_engine
from fleet.model import names
from fleet.model.branches import head_ref, task_branch
from fleet.model.dispatch import resumption
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.results.dispatches import Resumed
from fleet.model.text import times
from fleet.store import queries as q
from fleet.store import seats, tasks
from fleet.verbs.coord.seat import coord_spawn
from fleet.verbs.dispatch import find
from fleet.verbs.dispatch.apply_remedy import decide_and_apply
from fleet.verbs.dispatch.dispatch import start
from fleet.verbs.dispatch.journal import recorded_dispatch
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.dispatch.settle import CHANGED
from fleet.verbs.homes.ownership import disown_hint, why_foreign
from fleet.verbs.merge.branches import integration_branch
from fleet.verbs.resume import conversation, work_lock
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.engines.reader import Engine
    from fleet.store.queries import Dispatch
    from fleet.verbs.context import Context

# How many commits or files a briefing lists, and how often a dispatch that keeps changing is looked at.
_MOST = 20
_TRIES = 5


def resume(context: Context, given: str, *, project: str | None = None, force: bool = False) -> Resumed:
    """Start a successor for the named dispatch, session or task. `force` stops a process that holds the work lock.

    `project` limits a slug to one project. Raises NoSuchDispatch; NotResumable when the agent may be alive, has
    finished, or belongs to another home; ResumeInProgress when another process holds the work lock; ForceRefused when
    that process may not be stopped; CoordinatorLives when a coordinator to resume may live.
    """
    row = recorded_dispatch(context, find_dispatch_to_resume(context, given, project))
    _refuse_foreign(context, row)
    gate = (
        work_lock.gate_of_task(context, row.project, row.slug, row.id)
        if row.slug
        else context.world.work_gate(f"coord-{row.project}", row.id)
    )
    stopped = work_lock.lock_work_to_resume(context, gate, given, force=force)
    try:
        resumed = _resume_task(context, row, row.slug) if row.slug else _resume_coordinator(context, row)
    finally:
        gate.give()
    return resumed.replaced(stopped=str(stopped) if stopped else None)


def find_dispatch_to_resume(context: Context, given: str, project: str | None) -> str:
    """Return the id of the dispatch that `given` names: an id, a session's name, a slug or @last.

    `project` limits a slug to one project, None searches all. A slug leads to the newest attempt. Archived dispatches
    are found, too. Raises NoSuchDispatch when there is none.
    """
    project, bare = names.project_and_slug(given, project)
    if names.is_session(given):
        wanted = names.dispatch_of_session(given)
    else:
        wanted = given if given == "@last" else names.slug(bare)
    try:
        return context.store.read(lambda rows: find.find(rows, wanted, project))
    except errors.NoSuchDispatch:
        old = find.find_archived(context, wanted)
        if old is None:
            raise errors.NoSuchDispatch(dispatch=given) from None
        return old


# resume a task ----------------------------------------------------------------------------------------------------------
def _resume_task(context: Context, row: Dispatch, slug: str) -> Resumed:
    """Start the successor of the newest attempt at the task, after settling that attempt if its agent has died.

    `row` may be an older attempt. Refuse an attempt of another home, and one that cannot be resumed, for example because
    its agent lives.
    """
    last = _newest_attempt(context, row, slug)
    _refuse_foreign(context, last)
    last = settle_if_dead(context, last)
    parked = context.store.read(lambda rows: q.parked_handoff_of(rows, dispatch=last.id)) is not None
    _refuse_unresumable(context, last, slug, parked=parked)
    engine = read_engine(context.world.home, last.engine or "")
    # An agent is handed off because its conversation is nearly full: its successor starts a new one.
    conversation_id = None if parked else _conversation_of(context, engine, last)
    goes_on = conversation.can_continue(engine, conversation_id)
    wanted = replace(
        _wanted_like(last),
        kind=last.kind,
        predecessor=last.id,
        resumes="conversation" if goes_on else "again",
        conversation=conversation_id if goes_on else None,
        handoff=_briefing(context, last, slug, goes_on=goes_on),
    )
    return Resumed.made_of(start(context, wanted), predecessor=last.id, conversation=goes_on, stopped=None)


def _conversation_of(context: Context, engine: Engine, row: Dispatch) -> str | None:
    """Return the id of an attempt's conversation, as recorded or as found in the engine's files; None when unknown.

    An attempt that was never launched has a conversation only if it was to continue its predecessor's.
    """
    if not row.launched_at and row.resumes != "conversation":
        return None
    return conversation.recorded_conversation(context, row.id) or conversation.conversation_kept_by_engine(
        context, engine, row
    )


def _wanted_like(row: Dispatch) -> Wanted:
    """Return a request for a successor with the engine, autonomy, model and command of the earlier dispatch."""
    command = tuple(json.loads(row.command or "[]"))
    return Wanted(
        project=row.project, slug=row.slug, engine=row.engine, autonomy=row.autonomy, model=row.model, command=command
    )


def _newest_attempt(context: Context, row: Dispatch, slug: str) -> Dispatch:
    """Return the newest attempt at the task.

    Raises NotResumable when that is neither the named dispatch `row` nor one that resumed it, directly or through
    others, and when no attempt at the task is left that is not archived.
    """
    last = context.store.read(lambda rows: q.last_of_task(rows, project=row.project, slug=slug))
    if last is None:
        raise _not_resumable(row, resumption.why_finished(row) or "its task is archived")
    before: Dispatch | None = last
    while before is not None and before.id != row.id:
        before = recorded_dispatch(context, before.predecessor) if before.resumes and before.predecessor else None
    if before is None:
        raise errors.NotResumable(
            dispatch=row.id,
            why=f"{last.id} has followed it on {row.project}/{slug}",
            advice=f"`fleet resume {last.id}` resumes that one",
        )
    return last


def settle_if_dead(context: Context, row: Dispatch) -> Dispatch:
    """Return the row of an ended attempt; settle it first if its agent has died.

    Raises NotResumable when its agent is alive or unknown.
    """
    for _ in range(_TRIES):
        if not is_unfinished(row):
            return row
        applied = decide_and_apply(context, row, "resume")
        if not applied.ended and applied.why != CHANGED:
            advice = f"attach to it with `fleet attach {row.id}`"
            if applied.strangers:
                advice = "then resume again"
            elif "fleet dispatches disown" in applied.why:
                advice = "no second agent is started while the first may be alive"
            raise errors.NotResumable(dispatch=row.id, why=applied.why, advice=advice)
        row = recorded_dispatch(context, row.id)
    raise errors.NotResumable(dispatch=row.id, why="it keeps changing", advice="try again")


def _refuse_foreign(context: Context, row: Dispatch) -> None:
    """Raise NotResumable for a dispatch of another home: only that home has the worktree and knows whether the agent lives."""
    why = why_foreign(context, row)
    if why:
        raise errors.NotResumable(dispatch=row.id, why=why, advice=f"resume it there; {disown_hint(row.id)}")


def _refuse_unresumable(context: Context, row: Dispatch, slug: str, *, parked: bool) -> None:
    """Raise NotResumable for an attempt that belongs to a job or has nothing to resume, or whose task cannot continue.

    The task cannot continue when it was taken up, ended, paused or moved to another stage since. `parked`: the task was
    parked because handoffs made no progress.
    """
    place = {"project": row.project, "slug": slug}
    task = context.store.read(lambda rows: q.task_job(rows, **place))
    if task is not None and task.job:
        advice = f"`fleet resume {task.job}` goes on with that"
        raise errors.NotResumable(dispatch=row.id, why=f"it worked for job {task.job}", advice=advice)
    item = context.store.read(lambda rows: q.job_of_task(rows, **place))
    if item is not None:
        advice = f"`fleet resume {item.job}` goes on with what is unfinished"
        raise errors.NotResumable(dispatch=row.id, why=f"it works on an item of job {item.job}", advice=advice)
    state = context.store.read(lambda rows: tasks.state(rows, **place))
    taken = resumption.why_taken(row, state) or resumption.why_past(row, state)
    why = resumption.why_finished(row, parked=parked) or taken
    if why:
        raise _not_resumable(row, why)


def _not_resumable(row: Dispatch, why: str) -> errors.NotResumable:
    """Return the error for a dispatch that cannot be resumed, with the advice for a task or a coordinator."""
    advice = f"`fleet task show {row.slug} -p {row.project}` shows its state; `fleet task retry` opens it again"
    return errors.NotResumable(
        dispatch=row.id, why=why, advice=advice if row.slug else "start one with `fleet coord start`"
    )


def _briefing(context: Context, row: Dispatch, slug: str, *, goes_on: bool) -> str:
    """Return the text that tells a successor how its predecessor (`row`) ended and which work it left.

    `goes_on`: the successor continues the predecessor's conversation.
    """
    repository = context.project(row.project).path
    branch = task_branch(slug)
    base = row.base or integration_branch(context, row.project, repository)[1]
    tree = f"{context.world.home}/{paths.worktree(row.project, slug)}"
    log = f"{context.world.home}/{paths.log(row.id)}"
    facts = {
        "predecessor": row.id,
        "ended": times.iso_or_none(row.ended_at) or "an unknown time",
        "reason": row.blocked_reason or row.exec_state,
        "memory": "This is its own conversation: you remember what was done."
        if goes_on
        else "Its conversation is not available: you start anew, with what it left.",
        "branch": branch,
        "commits": _bullet_list(context.world.git.titles(repository, base, head_ref(branch))),
        "uncommitted": _bullet_list(context.world.git.uncommitted(tree)),
        "log": log if os.path.exists(log) else "nothing was kept",
    }
    return prompt.prompt(context.world.home, "resume", facts)


def _bullet_list(lines: list[str]) -> str:
    """Return lines as a bullet list for a successor's briefing, cut off after 20; "none" for no lines."""
    if not lines:
        return "none"
    more = [f"\n  - and {len(lines) - _MOST} more"] if len(lines) > _MOST else []
    return "".join([*(f"\n  - {line}" for line in lines[:_MOST]), *more])


# resume a coordinator ---------------------------------------------------------------------------------------------------
def _resume_coordinator(context: Context, row: Dispatch) -> Resumed:
    """Start a new coordinator in place of a dead one, in the dead one's conversation if possible.

    Raises CoordinatorLives while the old one may live.
    """
    if not is_unfinished(row):
        _refuse_unseated(context, row)
    conversation_id, goes_on = conversation_of_coordinator(context, row)
    wanted = replace(_wanted_like(row), kind="coord")
    if goes_on:
        wanted = replace(
            wanted, resumes="conversation", conversation=conversation_id, handoff=_briefing_of_coordinator(row)
        )
    seated = coord_spawn(context, wanted)
    return Resumed.made_of(seated, predecessor=row.id, conversation=goes_on, stopped=None)


def conversation_of_coordinator(context: Context, row: Dispatch) -> tuple[str | None, bool]:
    """Return the id of a coordinator's conversation (None when unknown), and whether a successor can continue it.

    An unknown one can be continued if the engine resumes without an id. Raise a FleetError when the engine's file is
    gone.
    """
    engine = read_engine(context.world.home, row.engine or "")
    known = _conversation_of(context, engine, row)
    return known, conversation.can_continue(engine, known)


def _briefing_of_coordinator(row: Dispatch) -> str:
    """Return the text that tells a coordinator, which continues its conversation, that it was interrupted."""
    ended = times.iso_or_none(row.ended_at) or "an unknown time"
    return (
        f"You coordinated {row.project} before, as agent {row.id}, until {ended} ({row.blocked_reason or row.exec_state}). "
        "This is your own conversation: you remember what was done. Agents may have gone on without you; begin with a tick."
    )


def _refuse_unseated(context: Context, row: Dispatch) -> None:
    """Raise NotResumable for an ended coordinator that no longer holds the seat or has nothing to resume."""
    holder = context.store.read(lambda rows: seats.seat(rows, row.project)).holder
    if holder != row.id:
        raise _not_resumable(row, f"{holder or 'nobody'} has the seat of {row.project} now")
    why = resumption.why_finished(row)
    if why:
        raise _not_resumable(row, why)
