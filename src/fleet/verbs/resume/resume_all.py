"""Resume all: what could be resumed and why, and bringing back what was interrupted, within the limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.engines.reader import engine as read_engine
from fleet.model.dispatch import resumption
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.results.dispatches import Resumable, ResumedMany, Unresumed
from fleet.model.text.times import iso_or_none
from fleet.store import queries as q
from fleet.verbs.dispatch import find
from fleet.verbs.dispatch.apply_remedy import treat
from fleet.verbs.homes.ownership import is_own
from fleet.verbs.jobs.abandoned import resumable_jobs
from fleet.verbs.resume import conversation
from fleet.verbs.resume.resume import resume, settled

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch, LeftAttempt
    from fleet.verbs.context import Context


def resumable(context: Context, project: str | None = None) -> list[Resumable]:
    """List what could be resumed, oldest first. Settle before what died unnoticed, as all does with the machine; kill nothing."""
    for row in _unfinished(context, project):
        treat(context, row, "resumable")
    rows = context.store.read(lambda snapshot: q.left_attempts(snapshot, project=project))
    left = [row for row in rows if is_own(context, row) and not resumption.why_finished(row)]
    tasks = [_resumable(row, conversation=_can_go_on(context, row)) for row in left]
    coordinators = [_resumable(row, conversation=False) for row in _coordinators(context, project)]
    return [*tasks, *coordinators, *resumable_jobs(context, project)]


def resume_all(context: Context, project: str | None = None) -> ResumedMany:
    """Bring back everything that was interrupted. What cannot start now waits, with the reason."""
    many = ResumedMany(resumed=[], waiting=[], jobs=[])
    _settle_dead(context, project)
    for each in resumable(context, project):
        if not each.interrupted:
            continue
        if each.kind == "job":
            context.world.start_fleet("resume", each.id)
            many.jobs.append(each.id)
            continue
        try:
            many.resumed.append(resume(context, each.id))
        except errors.FleetError as error:
            many.waiting.append(Unresumed.made_of(each, why=str(error)))
    return many


def _settle_dead(context: Context, project: str | None) -> None:
    """Settle what died, and kill what it left running. One that is alive or unknown is left alone."""
    for row in _unfinished(context, project):
        try:
            settled(context, row)
        except errors.FleetError:
            continue


def _unfinished(context: Context, project: str | None) -> list[Dispatch]:
    """The unfinished dispatches of this home, but for finishers: git says what became of a merge."""
    rows = context.store.read(lambda snapshot: q.listed_dispatches(snapshot, project=project, ended=0))
    return [row for row in rows if row.kind != "finisher" and is_own(context, row)]


def _coordinators(context: Context, project: str | None) -> list[Dispatch]:
    """Coordinators that were lost and whose seat nobody has taken since. A seat that was left on purpose stays empty."""
    lost = []
    for seat in context.store.read(q.all_seats):
        if not seat.holder or project not in {None, seat.project}:
            continue
        try:
            row = find.journal(context, seat.holder)
        except errors.NoSuchDispatch:
            continue
        if is_own(context, row) and not is_unfinished(row) and resumption.was_interrupted(row):
            lost.append(row)
    return lost


def _resumable(row: Dispatch | LeftAttempt, *, conversation: bool) -> Resumable:
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


def _can_go_on(context: Context, row: LeftAttempt) -> bool:
    """Whether a successor would go on in the conversation of the attempt."""
    try:
        engine = read_engine(context.world.home, row.engine or "")
    except errors.FleetError:
        return False
    return conversation.can_go_on(engine, row.conversation or conversation.found(context, engine, row))
