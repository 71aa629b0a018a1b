"""Record a job and its items in the store. Each function that returns a Change is one transaction."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.jobs import items as kinds
from fleet.model.tables import change, step, target
from fleet.model.tasks.steps import STEPS as TASK_STEPS
from fleet.records import record
from fleet.store import queries as q
from fleet.store.transaction import Change

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.model.states import ItemState, JobPart, JobPhase, JobState
    from fleet.store.queries import Item, Job, JobStep
    from fleet.store.transaction import Rows, Tx

# The reason with which an item is skipped because it left the input; `bring_back` finds such items by it.
GONE = "it is not in the input any more"
# The event that leads to each end state of a job, and to each state of an item after a failed attempt.
_END = {"done": "finish", "paused": "pause", "failed": "fail"}
_FAIL = {"waiting": "retry", "dead": "give_up", "parked": "park", "skipped": "skip"}


@record(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job that is about to be recorded.

    `source` is the text of its document, `folder` the document's folder, `home` the id of the home that runs it.
    """

    id: str
    project: str
    name: str
    source: str
    folder: str
    parameters: dict[str, str]
    home: str


def job_of(rows: Rows, ident: str) -> Job:
    """Return the row of a job; raise NoSuchJob when there is none."""
    job = q.job_by_id(rows, id=ident)
    if job is None:
        raise errors.NoSuchJob(job=ident)
    return job


def create(new: NewJob, parts: Iterable[JobPart]) -> Change[None]:
    """Return the change that records a new job, with its `parts` (setup, reduce) as items of their own.

    Committing it raises Contested when the id was given out before.
    """

    def work(tx: Tx) -> None:
        tx.about(new.project)
        if not q.reserve_id(tx, id=new.id, at=tx.at):
            raise errors.Contested(what=f"the id {new.id} was given out before; try again")
        q.add_job(tx, id=new.id, project=new.project, name=new.name, source=new.source, folder=new.folder,
                  parameters=json.dumps(new.parameters), actor=tx.caller.actor, home=new.home, at=tx.at)  # fmt: skip
        _add_parts(tx, new.id, parts)
        tx.note(job=new.id, name=new.name)

    return Change(f"begin job {new.id} ({new.name})", work)


def renew(new: NewJob, parts: Iterable[JobPart]) -> Change[None]:
    """Return the change that records that a known job runs again, with its document read again.

    Done items of the input stay done; setup and reduce run again. Committing it raises Refused for a cancelled job, or
    when the id is another job's.
    """

    def work(tx: Tx) -> None:
        was = job_of(tx, new.id)
        tx.about(was.project)
        if (was.project, was.name) != (new.project, new.name):
            raise errors.Refused(
                what=f"job {new.id} is {was.name} of project {was.project}, not {new.name} of {new.project}"
            )
        parameters = json.dumps(new.parameters)
        after, phase = target(kinds.JOB_STEPS, "renew"), target(kinds.PHASE_STEPS, "renew")
        if not q.renew_job(
            tx,
            id=new.id,
            source=new.source,
            folder=new.folder,
            parameters=parameters,
            after=after,
            phase=phase,
            at=tx.at,
        ):
            raise errors.Refused(what=f"job {new.id} was cancelled; run it under another id")
        _add_parts(tx, new.id, parts)
        for part in kinds.PARTS:
            reset_part(tx, new.id, part)
        tx.note(job=new.id)

    return Change(f"run job {new.id} once more", work)


def _add_parts(tx: Tx, job: str, parts: Iterable[JobPart]) -> None:
    """Add the job's setup and reduce as items; a job may have either, both or none."""
    for part in parts:
        q.add_item(tx, job=job, id=part, part=part, number=0, data="null")


def begin(ident: str) -> Change[None]:
    """Return the change that records that a runner takes up the job; setup and reduce run again if they had failed.

    Committing it raises Refused when there is nothing to resume: the job is done or cancelled.
    """

    def work(tx: Tx) -> None:
        was = job_of(tx, ident)
        tx.about(was.project)
        if not q.begin_job(tx, id=ident, after=target(kinds.JOB_STEPS, "begin"), at=tx.at):
            raise errors.Refused(what=f"job {ident} is {was.state}; there is nothing to resume")
        for part in kinds.PARTS:
            row = q.item_by_id(tx, job=ident, id=part)
            if row is not None and row.state in {"dead", "parked"}:
                reset_part(tx, ident, part)
        tx.note(job=ident, was=was.state)

    return Change(f"resume job {ident}", work)


def end(ident: str, state: JobState, reason: str | None) -> Change[None]:
    """Return the change that records that the job is done, paused or failed (`state`), and deletes its released claims.

    `reason` is None when it is done. A job that was cancelled meanwhile stays cancelled.
    """

    def work(tx: Tx) -> None:
        tx.about(job_of(tx, ident).project)
        q.end_job(tx, id=ident, **change(kinds.JOB_STEPS, "running", _END[state]), reason=reason, at=tx.at)
        q.forget_released_of_job(tx, job=ident)
        tx.note(job=ident, state=state, reason=reason)

    return Change(f"job {ident}: {state}{f' ({reason})' if reason else ''}", work)


def step_phase(ident: str, phase: JobPhase, event: str) -> Change[None]:
    """Return the change that moves a job from `phase` to the phase that `event` leads to.

    The job stays in the phase `map` while an item waits or is at work.
    """
    after = step(kinds.PHASE_STEPS, phase, event)

    def work(tx: Tx) -> None:
        tx.about(job_of(tx, ident).project)
        if phase == "map" and (q.soonest_item(tx, job=ident, part="map").n or q.items_at_work(tx, job=ident)):
            return  # an item was retried from the dead-letter queue meanwhile
        tx.note(job=ident, phase=after)
        q.step_phase(tx, id=ident, before=phase, after=after, at=tx.at)

    return Change(f"job {ident}: {after}", work)


def add_items(ident: str, contents: list[object]) -> Change[None]:
    """Return the change that records the items of the input and ends the setup phase.

    Waiting items that are no longer in the input are skipped, and wait again once they are back in it. All other known
    items keep their state.
    """

    def work(tx: Tx) -> None:
        tx.about(job_of(tx, ident).project)
        q.number_away(tx, job=ident)
        new = list(kinds.numbered(contents))
        place = {"job": ident, "part": "map"}
        tx.many(q.ADD_ITEM, (place | {"id": item, "number": n, "data": json.dumps(data)} for item, n, data in new))
        tx.many(q.RENUMBER_ITEM, ({"job": ident, "id": item, "number": n} for item, n, _data in new))
        missing = change(kinds.STEPS, "waiting", "go_missing")
        gone = q.skip_gone_items(tx, job=ident, **missing, reason=GONE, at=tx.at)
        bring_back(tx, ident)
        q.step_phase(tx, id=ident, **change(kinds.PHASE_STEPS, "setup", "list"), at=tx.at)
        tx.note(job=ident, items=len(contents), gone=gone)

    return Change(f"job {ident}: {len(contents)} items", work)


def bring_back(tx: Tx, job: str) -> int:
    """Set back to waiting the items that were skipped because they left the input, and are in it again.

    Returns how many.
    """
    return q.back_items(tx, job=job, **change(kinds.STEPS, "skipped", "come_back"), reason=GONE)


def start(job: Job, chosen: list[Item], *, tasks: bool) -> Change[list[str]]:
    """Return the change that records the start of attempts, and opens the items' tasks if `tasks`.

    Committing it returns the ids of the started items: those that were still waiting.
    """

    def work(tx: Tx) -> list[str]:
        tx.about(job.project)
        started, stepped = [], change(kinds.STEPS, "waiting", "start")
        for item in chosen:
            if q.start_item(tx, job=job.id, id=item.id, **stepped, at=tx.at):
                started.append(item.id)
                if tasks:
                    open_task(tx, job, item)
        tx.note(job=job.id, items=started)
        return started

    shown = ", ".join(item.id for item in chosen[:5])
    return Change(f"job {job.id}: start {shown}{' and more' if len(chosen) > 5 else ''}", work)  # noqa: PLR2004


def open_task(tx: Tx, job: Job, item: Item) -> None:
    """Open the task of an item; add the task first if it is missing."""
    place = {"project": job.project, "slug": kinds.slug(job.id, item.id), "job": job.id}
    title = f"{job.name}: {label(item)}"
    clean = " ".join("".join(char if char.isprintable() else " " for char in title).split())[:300]
    q.add_job_task(tx, **place, title=clean, description="", at=tx.at)
    q.open_job_task(tx, **place, after=target(TASK_STEPS, "item_started"), at=tx.at)


def label(item: Item) -> str:
    """Return a short text for an item, for people; setup and reduce by their names."""
    return item.part if item.part != "map" else kinds.label(json.loads(item.data))


def put_back(job: Job, which: list[str], *, began: bool, not_before: int | None = None) -> Change[None]:
    """Return the change that sets running items back to waiting, without counting a failure.

    `began`: their attempts were interrupted, or ended by a usage limit, and stay counted; otherwise the attempts never
    began and are not counted. `not_before` is the earliest time of the next attempt; None lets it start at once.
    """
    unbegun, stepped = int(not began), change(kinds.STEPS, "running", "put_back")

    def work(tx: Tx) -> None:
        tx.about(job.project)
        for item in which:
            q.put_back_item(tx, job=job.id, id=item, unbegun=unbegun, not_before=not_before, **stepped)
        tx.note(job=job.id, items=which)

    return Change(f"job {job.id}: put back {', '.join(which[:5])}", work)


def set_dispatch(job: Job, item: str, dispatch: str) -> Change[None]:
    """Return the change that records which dispatch works on a running item, unless one is recorded already."""

    def work(tx: Tx) -> None:
        tx.about(job.project, kinds.slug(job.id, item))
        tx.dispatch = dispatch
        q.give_item(tx, job=job.id, id=item, dispatch=dispatch)

    return Change(f"job {job.id}: {item} is worked on by {dispatch}", work)


@record(frozen=True, slots=True, kw_only=True)
class FailedAttempt:
    """A failed attempt: the next state of its item, and what the item's history says of it.

    `where` names what failed, such as "map step 2". `not_before` is the time of the retry, None when there is none.
    """

    item: Item
    state: ItemState
    reason: str
    signature: str
    where: str
    not_before: int | None = None


def record_outcomes(
    job: Job, passed: list[Item], failed: list[FailedAttempt], steps: list[JobStep], *, merge: bool
) -> Change[None]:
    """Return the change that records ended attempts, with their steps.

    A passed item is to be merged next if `merge`, else it is done. A failed item gets the state in its `FailedAttempt`.
    """

    def work(tx: Tx) -> None:
        tx.about(job.project)
        if steps:
            tx.many(q.ADD_STEP, (step.as_json() for step in steps))
        for item in passed:
            if merge:
                q.pass_item(tx, job=job.id, id=item.id, **change(kinds.STEPS, "running", "pass"))
            else:
                _finish_item(tx, job.id, item.id, None)
        for failure in failed:
            _record_failure(tx, job, failure)
        failures = {each.item.id: each.state for each in failed}
        tx.note(job=job.id, passed=[item.id for item in passed], failed=failures)

    return Change(f"job {job.id}: {len(passed)} passed, {len(failed)} failed", work)


def _record_failure(tx: Tx, job: Job, failure: FailedAttempt) -> None:
    """Record one failed attempt in the item's row and history."""
    item = failure.item
    failed = {
        "attempt": item.attempts,
        "dispatch": item.dispatch,
        "started_at": item.started_at,
        "ended_at": tx.at,
        "where": failure.where,
        "reason": failure.reason,
        "signature": failure.signature,
    }
    q.fail_item(
        tx,
        job=job.id,
        id=item.id,
        **change(kinds.STEPS, item.state, _FAIL[failure.state]),
        reason=failure.reason,
        signature=failure.signature,
        not_before=failure.not_before,
        history=json.dumps([*json.loads(item.history), failed], ensure_ascii=False),
        at=tx.at,
    )


def _finish_item(tx: Tx, job: str, item: str, merged: str | None) -> None:
    """Record that an item is done, with the commit that contains its work. `merged` is None when there is no work."""
    q.finish_item(tx, job=job, id=item, after=target(kinds.STEPS, "finish"), merged=merged, at=tx.at)


def reset_part(tx: Tx, job: str, part: JobPart) -> None:
    """Set setup or reduce back to waiting, so that it runs once more; do nothing while it waits or is at work."""
    q.reset_part(tx, job=job, id=part, after=target(kinds.STEPS, "reset"))


def finish(job: Job, item: str, merged: str | None) -> Change[None]:
    """Return the change that records an item as done; `merged` is the commit with its work, None without work."""

    def work(tx: Tx) -> None:
        tx.about(job.project, kinds.slug(job.id, item))
        tx.note(job=job.id, item=item, merged=merged)
        _finish_item(tx, job.id, item, merged)

    return Change(f"job {job.id}: {item} is done", work)


def close_task(job: Job, slug: str, status: str, reason: str | None) -> Change[bool]:
    """Return the change that ends and archives the task of an item. `status` is "done", "failed" or "abandoned".

    Committing it returns False when the item has no task, or when an attempt still works on it.
    """

    def work(tx: Tx) -> bool:
        tx.about(job.project, slug)
        place = {"project": job.project, "slug": slug, "job": job.id}
        after = target(TASK_STEPS, f"item_{status}")
        return q.close_job_task(tx, **place, after=after, reason=reason, at=tx.at) == 1

    return Change(f"job {job.id}: {slug} is over", work)


def repeat_part(job: Job, part: JobPart) -> Change[None]:
    """Return the change that lets setup or reduce run once more. Nothing changes while the part waits or is at work."""

    def work(tx: Tx) -> None:
        tx.about(job.project)
        reset_part(tx, job.id, part)

    return Change(f"job {job.id}: {part} once more", work)
