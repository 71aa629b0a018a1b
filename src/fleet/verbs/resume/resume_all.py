"""Resume all: what could be resumed and why, and bringing back what was interrupted, within the limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.engines.reader import engine as read_engine
from fleet.errors.families import FleetError
from fleet.model.dispatch import resumption
from fleet.model.dispatch.steps import is_unfinished
from fleet.store import queries as q
from fleet.verbs.dispatch import find
from fleet.verbs.dispatch.apply_remedy import treat
from fleet.verbs.homes.ownership import is_own
from fleet.verbs.jobs.abandoned import left_jobs
from fleet.verbs.resume import conversation
from fleet.verbs.resume.resume import resume, settled, when

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch
    from fleet.store.transaction import Row
    from fleet.verbs.context import Context


def resumable(context: Context, project: str | None = None) -> list[dict[str, Any]]:
    """What could be resumed, oldest first. What died unnoticed, as all does with the machine, is settled before; nothing is killed."""
    for row in _unfinished(context, project):
        treat(context, row, "resumable")
    rows = context.store.read(lambda snapshot: q.left_attempts(snapshot, project=project))
    left = [row for row in rows if is_own(context, row) and not resumption.why_finished(row)]
    return [_shown(context, row) for row in [*left, *_coordinators(context, project)]] + left_jobs(context, project)


def resume_all(context: Context, project: str | None = None) -> dict[str, Any]:
    """Bring back everything that was interrupted. What cannot start now waits, with the reason."""
    done: dict[str, Any] = {"resumed": [], "waiting": [], "jobs": []}
    _settle_dead(context, project)
    for each in resumable(context, project):
        if not each["interrupted"]:
            continue
        if each["kind"] == "job":
            context.world.start_fleet("resume", each["id"])
            done["jobs"].append(each["id"])
            continue
        try:
            done["resumed"].append(resume(context, each["id"]))
        except FleetError as error:
            done["waiting"].append({**each, "why": str(error)})
    return done


def _settle_dead(context: Context, project: str | None) -> None:
    """Together with what the dead left running. One that is alive or unknown is none of ours."""
    for row in _unfinished(context, project):
        try:
            settled(context, row)
        except FleetError:
            continue


def _unfinished(context: Context, project: str | None) -> list[Row]:
    """Of this home, but for finishers: what became of a merge is git's to say."""
    rows = context.store.read(lambda snapshot: q.listed_dispatches(snapshot, project=project, ended=0))
    return [row for row in rows if row.kind != "finisher" and is_own(context, row)]


def _coordinators(context: Context, project: str | None) -> list[Dispatch]:
    """Coordinators that were lost and whose seat nobody has taken since. A seat that was left on purpose stays empty."""
    found = []
    for seat in context.store.read(lambda rows: q.all_seats(rows)):
        if not seat.holder or project not in {None, seat.project}:
            continue
        row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=seat.holder))  # noqa: B023
        row = row or find.archived(context, seat.holder)
        if row is not None and is_own(context, row) and not is_unfinished(row) and resumption.was_interrupted(row):
            found.append(row)
    return found


def _shown(context: Context, row: Row) -> dict[str, Any]:
    return {
        "id": row["id"],
        "project": row["project"],
        "task": row["slug"],
        "kind": row["kind"],
        "engine": row["engine"],
        "ended_at": when(row["ended_at"]),
        "reason": row["blocked_reason"] or row["exec_state"],
        "interrupted": resumption.was_interrupted(row),
        "conversation": row["slug"] is not None and _goes_on(context, row),
    }


def _goes_on(context: Context, row: Row) -> bool:
    try:
        engine = read_engine(context.world.home, row["engine"])
    except FleetError:
        return False
    talk = row.get("conversation") or conversation.found(context, engine, row)
    return conversation.can_go_on(engine, talk)
