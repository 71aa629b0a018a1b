"""List the work that can be resumed, and resume everything that was interrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.engines.reader import engine as read_engine
from fleet.model.dispatch import resumption
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.identity import Identity
from fleet.model.results.dispatches import Resumable, ResumedMany, Unresumed
from fleet.model.text.times import iso_or_none
from fleet.store import queries as q
from fleet.verbs.dispatch.apply_remedy import decide_and_apply
from fleet.verbs.dispatch.journal import recorded_dispatch
from fleet.verbs.homes.environment import is_asked_by_person
from fleet.verbs.homes.ownership import is_own
from fleet.verbs.jobs.abandoned import resumable_jobs
from fleet.verbs.resume import conversation
from fleet.verbs.resume.resume import conversation_of_coordinator, resume, settle_if_dead
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch, LeftAttempt
    from fleet.verbs.context import Context


def settle_and_list_resumable(context: Context, project: str | None = None) -> list[Resumable]:
    """Settle dispatches whose agent has died, without killing anything.

    Then return the tasks, coordinators and jobs that can be resumed.
    """
    for row in _unfinished(context, project):
        decide_and_apply(context, row, "resumable")
    rows = context.store.read(lambda snapshot: q.left_attempts(snapshot, project=project))
    left = [row for row in rows if is_own(context, row) and not resumption.why_finished(row)]
    tasks = [_resumable_view(row, conversation=_can_continue_conversation(context, row)) for row in left]
    lost = _lost_coordinators(context, project)
    coordinators = [_resumable_view(row, conversation=_can_coordinator_continue(context, row)) for row in lost]
    return [*tasks, *coordinators, *resumable_jobs(context, project)]


def resume_all(context: Context, project: str | None = None) -> ResumedMany:
    """Settle the dead, then resume everything that was interrupted, in one project or (None) in all.

    Work that cannot start now is returned as waiting, with the reason.
    """
    _settle_dead(context, project)
    return _resume_each(context, [work for work in settle_and_list_resumable(context, project) if work.interrupted])


def resume_after_boot(context: Context) -> ResumedMany | None:
    """Resume the work that an earlier boot of this machine interrupted.

    Returns None when all of that work was resumed since this boot already. If the process is killed, the next call
    continues with the work that is not resumed yet: each piece of resumed work is recorded on its own.
    """
    if _resumed_boot(context) == context.world.host.boot:
        return None
    _settle_dead(context, None)
    many = _resume_each(
        context,
        [work for work in settle_and_list_resumable(context) if work.interrupted and _is_of_old_boot(context, work)],
    )
    if not many.waiting:
        context.world.files.publish(paths.RESUMED_BOOT, context.world.host.boot.encode())
    return many


def _resumed_boot(context: Context) -> str:
    """Return the id of the boot in which all interrupted work was resumed; "" when none is known."""
    try:
        return context.world.files.read(paths.RESUMED_BOOT).decode()
    except OSError:
        return ""


def _is_of_old_boot(context: Context, work: Resumable) -> bool:
    """Return whether the process that did the work is known, and belonged to an earlier boot.

    Work that was interrupted since the boot is not resumed after it; a person decides about that.
    """
    if work.kind == "job":
        holder = context.world.work_gate(f"job-{work.id}", work.id).holder()
        return holder is not None and holder.boot != context.world.host.boot
    row = recorded_dispatch(context, work.id)
    process = Identity.parse(row.process or row.spawner)
    return process is not None and process.boot != context.world.host.boot


def _resume_each(context: Context, works: list[Resumable]) -> ResumedMany:
    """Resume each piece of work; a job in a background process. Work that cannot start now is returned as waiting."""
    many = ResumedMany(resumed=[], waiting=[], jobs=[])
    for work in works:
        if work.kind == "job":
            context.world.start_fleet("resume", work.id, for_person=is_asked_by_person(context))
            many.jobs.append(work.id)
            continue
        try:
            many.resumed.append(resume(context, work.id))
        except errors.FleetError as error:
            many.waiting.append(Unresumed.made_of(work, why=str(error)))
    return many


def _settle_dead(context: Context, project: str | None) -> None:
    """Settle dispatches whose agent has died, and kill the processes they left. Leave living and unknown agents alone."""
    for row in _unfinished(context, project):
        try:
            settle_if_dead(context, row)
        except errors.FleetError:
            continue


def _unfinished(context: Context, project: str | None) -> list[Dispatch]:
    """Return this home's unfinished dispatches that a resume may settle.

    Finishers are left out: a later merge asks git how far they came.
    """
    rows = context.store.read(lambda snapshot: q.listed_dispatches(snapshot, project=project, ended=0))
    return [row for row in rows if row.kind != "finisher" and is_own(context, row)]


def _lost_coordinators(context: Context, project: str | None) -> list[Dispatch]:
    """Return the coordinators that were interrupted and still hold their seat."""
    lost = []
    for seat in context.store.read(q.all_seats):
        if not seat.holder or project not in {None, seat.project}:
            continue
        try:
            row = recorded_dispatch(context, seat.holder)
        except errors.NoSuchDispatch:
            continue
        if is_own(context, row) and not is_unfinished(row) and resumption.was_interrupted(row):
            lost.append(row)
    return lost


def _resumable_view(row: Dispatch | LeftAttempt, *, conversation: bool) -> Resumable:
    """Return an interrupted or ended dispatch as the list of resumable work shows it.

    `conversation`: whether a successor could continue the agent's conversation.
    """
    return Resumable(
        id=row.id,
        project=row.project,
        task=row.slug,
        kind=row.kind,
        engine=row.engine,
        ended_at=iso_or_none(row.ended_at),
        reason=row.blocked_reason or row.exec_state,
        interrupted=resumption.was_interrupted(row),
        conversation=conversation,
    )


def _can_coordinator_continue(context: Context, row: Dispatch) -> bool:
    """Return whether a successor could continue the coordinator's conversation; False when its engine's file is gone."""
    try:
        return conversation_of_coordinator(context, row)[1]
    except errors.FleetError:
        return False


def _can_continue_conversation(context: Context, row: LeftAttempt) -> bool:
    """Return whether a successor could continue the attempt's conversation; False when its engine's file is gone."""
    try:
        engine = read_engine(context.world.home, row.engine or "")
    except errors.FleetError:
        return False
    return conversation.can_continue(
        engine, row.conversation or conversation.conversation_kept_by_engine(context, engine, row)
    )
