"""What is written down of a job and its items. Each function is one change, committed whole."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fleet.errors.absent import NoSuchJob
from fleet.errors.families import Contested, Refused
from fleet.model.jobs import items as kinds
from fleet.model.tables import change, target
from fleet.model.tasks.steps import STEPS as TASK_STEPS
from fleet.store import queries as q
from fleet.store.transaction import Change

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.store.queries import Job
    from fleet.store.transaction import Row, Rows, Tx

GONE = "it is not in the input any more"
# The event of the table that ends a job, or a failed attempt, in each state.
_END = {"done": "finish", "paused": "pause", "failed": "fail"}
_FAIL = {"waiting": "retry", "dead": "give_up", "parked": "park", "skipped": "skip"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job as it is written down."""

    id: str
    project: str
    name: str
    source: str
    folder: str
    parameters: dict[str, str]
    home: str


def job_of(rows: Rows, ident: str) -> Job:
    """A job's row, or NoSuchJob."""
    found = q.job_by_id(rows, id=ident)
    if found is None:
        raise NoSuchJob(job=ident)
    return found


def create(new: NewJob, parts: Iterable[str]) -> Change[Row]:
    """A job, with the parts that are worked on as items are."""
    given = tuple(parts)

    def work(tx: Tx) -> Row:
        tx.about(new.project)
        if not q.reserve_id(tx, id=new.id, at=tx.at):
            raise Contested(what=f"the id {new.id} was given out before; try again")
        told = {"project": new.project, "name": new.name, "source": new.source, "folder": new.folder}
        q.add_job(tx, id=new.id, **told, parameters=json.dumps(new.parameters), actor=tx.caller.actor,
               home=new.home, at=tx.at)  # fmt: skip
        _add_parts(tx, new.id, given)
        tx.note(job=new.id, name=new.name)
        return {"id": new.id}

    return Change(f"begin job {new.id} ({new.name})", work)


def renew(new: NewJob, parts: Iterable[str]) -> Change[Row]:
    """The same job once more: its document is read anew, what is done stays done."""
    given = tuple(parts)

    def work(tx: Tx) -> Row:
        was = job_of(tx, new.id)
        tx.about(was.project)
        if (was.project, was.name) != (new.project, new.name):
            raise Refused(what=f"job {new.id} is {was.name} of project {was.project}, not {new.name} of {new.project}")
        told = {"source": new.source, "folder": new.folder, "parameters": json.dumps(new.parameters)}
        if not q.renew_job(tx, id=new.id, **told, after=target(kinds.JOB_STEPS, "renew"), at=tx.at):
            raise Refused(what=f"job {new.id} was cancelled; run it under another id")
        _add_parts(tx, new.id, given)
        for part in kinds.PARTS:
            reset_part(tx, new.id, part)
        tx.note(job=new.id)
        return {"id": new.id}

    return Change(f"run job {new.id} once more", work)


def _add_parts(tx: Tx, job: str, parts: tuple[str, ...]) -> None:
    for part in parts:
        q.add_item(tx, job=job, id=part, part=part, number=0, data="null")


def begin(ident: str) -> Change[Row]:
    """A runner takes the job up."""

    def work(tx: Tx) -> Row:
        was = job_of(tx, ident)
        tx.about(was.project)
        if not q.begin_job(tx, id=ident, after=target(kinds.JOB_STEPS, "begin"), at=tx.at):
            raise Refused(what=f"job {ident} is {was.state}; there is nothing to resume")
        for part in kinds.PARTS:
            row = q.item_by_id(tx, job=ident, id=part)
            if row is not None and row.state in {"dead", "parked"}:
                reset_part(tx, ident, part)
        tx.note(job=ident, was=was.state)
        return {"was": was.state, "at": tx.at}

    return Change(f"resume job {ident}", work)


def end(ident: str, state: str, reason: str | None) -> Change[Row]:
    """The job is done, paused, or has failed."""

    def work(tx: Tx) -> Row:
        tx.about(job_of(tx, ident).project)
        ended = q.end_job(tx, id=ident, **change(kinds.JOB_STEPS, "running", _END[state]), reason=reason, at=tx.at)
        q.forget_released_of_job(tx, job=ident)
        tx.note(job=ident, state=state, reason=reason)
        return {"ended": ended == 1}

    return Change(f"job {ident}: {state}{f' ({reason})' if reason else ''}", work)


def phase(ident: str, before: str, after: str) -> Change[Row]:
    """The next part of the job begins."""

    def work(tx: Tx) -> Row:
        tx.about(job_of(tx, ident).project)
        waiting = q.soonest_item(tx, job=ident, part="map") or {"n": 0}
        if before == "map" and (waiting["n"] or q.items_at_work(tx, job=ident)):
            return {"moved": False}  # somebody took an item out of the dead-letter queue meanwhile
        tx.note(job=ident, phase=after)
        return {"moved": q.step_phase(tx, id=ident, before=before, after=after, at=tx.at) == 1}

    return Change(f"job {ident}: {after}", work)


def add_items(ident: str, found: list[Any]) -> Change[Row]:
    """The items of the input, and with them the end of setup. Those that are known stay as they are."""

    def work(tx: Tx) -> Row:
        tx.about(job_of(tx, ident).project)
        q.number_away(tx, job=ident)
        listed = [
            {"job": ident, "id": item, "part": "map", "number": number, "data": json.dumps(data)}
            for item, number, data in kinds.numbered(found)
        ]
        tx.many(q.ADD_ITEM, listed)
        tx.many(q.RENUMBER_ITEM, [{"job": ident, "id": row["id"], "number": row["number"]} for row in listed])
        missing = change(kinds.STEPS, "waiting", "go_missing")
        gone = q.skip_gone_items(tx, job=ident, **missing, reason=GONE, at=tx.at)
        bring_back(tx, ident)
        q.step_phase(tx, id=ident, before="setup", after="map", at=tx.at)
        tx.note(job=ident, items=len(listed), gone=gone)
        return {"items": len(listed), "gone": gone}

    return Change(f"job {ident}: {len(found)} items", work)


def bring_back(tx: Tx, job: str) -> int:
    """Items that were not in the input for a while, and are again. How many."""
    return q.back_items(tx, job=job, **change(kinds.STEPS, "skipped", "come_back"), reason=GONE)


def start(job: Row, chosen: list[Row], *, tasks: bool) -> Change[Row]:
    """Attempts begin: the items are running, and where they are dispatched their tasks are open."""

    def work(tx: Tx) -> Row:
        tx.about(job["project"])
        started, stepped = [], change(kinds.STEPS, "waiting", "start")
        for item in chosen:
            if q.start_item(tx, job=job["id"], id=item["id"], **stepped, at=tx.at):
                started.append(item["id"])
                if tasks:
                    open_task(tx, job, item)
        tx.note(job=job["id"], items=started)
        return {"started": started}

    shown = ", ".join(item["id"] for item in chosen[:5])
    return Change(f"job {job['id']}: start {shown}{' and more' if len(chosen) > 5 else ''}", work)  # noqa: PLR2004


def open_task(tx: Tx, job: Row, item: Row) -> None:
    """The task of an item, made if it is missing, and open."""
    place = {"project": job["project"], "slug": kinds.slug(job["id"], item["id"]), "job": job["id"]}
    title = f"{job['name']}: {item['part'] if item['part'] != 'map' else kinds.label(json.loads(item['data']))}"
    clean = " ".join("".join(char if char.isprintable() else " " for char in title).split())[:300]
    q.add_job_task(tx, **place, title=clean, description="", at=tx.at)
    q.open_job_task(tx, **place, after=target(TASK_STEPS, "item_started"), at=tx.at)


def put_back(job: Row, which: list[str], *, began: bool, not_before: int | None = None) -> Change[Row]:
    """Attempts that never began, or were interrupted: they are no failures."""
    how = {"unbegun": int(not began), "not_before": not_before, **change(kinds.STEPS, "running", "put_back")}

    def work(tx: Tx) -> Row:
        tx.about(job["project"])
        moved = sum(q.put_back_item(tx, job=job["id"], id=item, **how) for item in which)
        tx.note(job=job["id"], items=which)
        return {"moved": moved}

    return Change(f"job {job['id']}: put back {', '.join(which[:5])}", work)


def give(job: Job, item: str, dispatch: str) -> Change[Row]:
    """Which dispatch is the attempt."""

    def work(tx: Tx) -> Row:
        tx.about(job.project, kinds.slug(job.id, item))
        tx.dispatch = dispatch
        return {"given": q.give_item(tx, job=job.id, id=item, dispatch=dispatch) == 1}

    return Change(f"job {job.id}: {item} is worked on by {dispatch}", work)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An attempt that failed: what becomes of the item, and what its history says."""

    item: Row
    state: str
    reason: str
    signature: str
    where: str
    not_before: int | None = None


def outcomes(job: Row, passed: list[Row], failed: list[Failure], steps: list[Row], *, merge: bool) -> Change[Row]:
    """What attempts came to: on to the merge (or done, where there is none), to the next try, or over."""

    def work(tx: Tx) -> Row:
        tx.about(job["project"])
        if steps:
            tx.many(q.ADD_STEP, steps)
        for item in passed:
            if merge:
                q.pass_item(tx, job=job["id"], id=item["id"], **change(kinds.STEPS, "running", "pass"))
            else:
                _finish_item(tx, job["id"], item["id"], None)
        for failure in failed:
            _fail(tx, job, failure)
        tx.note(
            job=job["id"],
            passed=[each["id"] for each in passed],
            failed={each.item["id"]: each.state for each in failed},
        )
        return {}

    return Change(f"job {job['id']}: {len(passed)} passed, {len(failed)} failed", work)


def _fail(tx: Tx, job: Row, failure: Failure) -> None:
    item = failure.item
    said = {
        "attempt": item["attempts"],
        "dispatch": item["dispatch"],
        "started_at": item["started_at"],
        "ended_at": tx.at,
        "where": failure.where,
        "reason": failure.reason,
        "signature": failure.signature,
    }
    q.fail_item(
        tx,
        job=job["id"],
        id=item["id"],
        **change(kinds.STEPS, item["state"], _FAIL[failure.state]),
        reason=failure.reason,
        signature=failure.signature,
        not_before=failure.not_before,
        history=json.dumps([*json.loads(item["history"]), said], ensure_ascii=False),
        at=tx.at,
    )


def _finish_item(tx: Tx, job: str, item: str, merged: str | None) -> bool:
    after = target(kinds.STEPS, "finish")
    return q.finish_item(tx, job=job, id=item, after=after, merged=merged, at=tx.at) == 1


def reset_part(tx: Tx, job: str, part: str) -> bool:
    """Setup or reduce is to be done once more. False when it is being done, or waits."""
    return q.reset_part(tx, job=job, id=part, after=target(kinds.STEPS, "reset")) == 1


def finish(job: Row, item: str, merged: str | None) -> Change[Row]:
    """Git says that its work is on the job's branch."""

    def work(tx: Tx) -> Row:
        tx.about(job["project"], kinds.slug(job["id"], item))
        tx.note(job=job["id"], item=item, merged=merged)
        return {"done": _finish_item(tx, job["id"], item, merged)}

    return Change(f"job {job['id']}: {item} is done", work)


def close_task(job: Job, slug: str, status: str, reason: str | None) -> Change[Row]:
    """The item is over: its task is archived, and its worktree may go."""

    def work(tx: Tx) -> Row:
        tx.about(job.project, slug)
        place = {"project": job.project, "slug": slug, "job": job.id}
        after = target(TASK_STEPS, f"item_{status}")
        return {"closed": q.close_job_task(tx, **place, after=after, reason=reason, at=tx.at) == 1}

    return Change(f"job {job.id}: {slug} is over", work)


def again(job: Row, part: str) -> Change[Row]:
    """Setup or reduce is to be done once more."""

    def work(tx: Tx) -> Row:
        tx.about(job["project"])
        return {"moved": reset_part(tx, job["id"], part)}

    return Change(f"job {job['id']}: {part} once more", work)
