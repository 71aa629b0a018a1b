"""Cancel a job: start nothing more, end its attempts, remove its worktrees. Its commits and its branch stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import job_branch
from fleet.model.jobs.items import JOB_STEPS
from fleet.model.results.jobs import JobCancelled
from fleet.model.tables import target
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.homes.ownership import refuse_foreign
from fleet.verbs.jobs import records, results
from fleet.verbs.jobs.begin import gate_of
from fleet.verbs.jobs.items import attempts
from fleet.verbs.jobs.items.own_processes import end_leftovers
from fleet.verbs.jobs.report import write_report
from fleet.verbs.jobs.run import release_all

if TYPE_CHECKING:
    from fleet.store.queries import Job
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context


def cancel(context: Context, ident: str, reason: str) -> JobCancelled:
    """Cancel a job and end its attempts. If the job has a runner, that runner ends the attempts in its next round.

    `left` of the result says what could not be removed, `runner` names the runner that has yet to stop (None: there is
    none). Raises NoSuchJob, OtherHost for a job of another home, and Refused for a job that is done.
    """
    job = context.store.read(lambda rows: records.job_of(rows, ident))
    refuse_foreign(context, f"job {ident}", job)
    context.commit(_set_cancelled(ident, reason))
    gate = gate_of(context, ident)
    try:
        gate.take()
    except errors.GateHeld:
        return _cancelled_view(context, ident, [], str(gate.holder()))
    try:
        left = _end_attempts(context, job)
    finally:
        gate.give()
    write_report(context, context.store.read(lambda rows: records.job_of(rows, ident)))
    return _cancelled_view(context, ident, left, None)


def _cancelled_view(context: Context, ident: str, left: list[str], runner: str | None) -> JobCancelled:
    """Return the cancelled job with its counts.

    `left` says what could not be removed; `runner` names a runner that has yet to stop.
    """
    job, counts = context.store.read(lambda rows: records.job_of(rows, ident)), results.count(context, ident)
    return JobCancelled.made_of(job, items=counts, branch=job_branch(ident), left=left, runner=runner)


def _set_cancelled(ident: str, reason: str) -> Change[None]:
    """Return the change that records the job as cancelled; committing it raises Refused when the job is done."""

    def work(tx: Tx) -> None:
        was = records.job_of(tx, ident)
        tx.about(was.project)
        if was.state == "done":
            raise errors.Refused(
                what=f"job {ident} is done; `fleet job dlq drop {ident} --all` drops the items that failed"
            )
        tx.note(job=ident, was=was.state, reason=reason)
        q.cancel_job(tx, id=ident, after=target(JOB_STEPS, "cancel"), reason=reason, at=tx.at)

    return Change(f"cancel job {ident}: {reason}", work)


def _end_attempts(context: Context, job: Job) -> list[str]:
    """End the job's processes and attempts, and remove its worktrees. Returns what could not be removed, and why."""
    end_leftovers(context, job.id)
    for row in context.store.read(lambda rows: q.items_at_work(rows, job=job.id)):
        attempts.stop(context, job, row)
    return release_all(context, job)
