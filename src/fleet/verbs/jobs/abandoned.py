"""Find jobs without a runner that can be resumed, and processes that dead runners left running."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.steps import INTERRUPTED
from fleet.model.results.dispatches import Resumable
from fleet.model.text.times import iso
from fleet.resources.job_process import left_processes, runner_of
from fleet.store import queries as q
from fleet.verbs.homes.ownership import is_own, why_foreign

if TYPE_CHECKING:
    from fleet.model.identity import Identity
    from fleet.store.queries import Job
    from fleet.verbs.context import Context

# More than there are jobs.
ALL_JOBS = 1 << 60


def has_runner(context: Context, ident: str) -> bool:
    """Return whether a runner of the job may live: a process that is not proven dead holds the job's gate.

    Only reads the gate's file; does not try to lock the gate.
    """
    holder = context.world.work_gate(f"job-{ident}", ident).holder()
    return holder is not None and context.world.processes.life(holder.who) != "dead"


def resumable_jobs(context: Context, project: str | None) -> list[Resumable]:
    """Return the running, paused and failed jobs of this home that have no runner, newest first.

    `project` limits this to one project; None takes all.
    """
    rows = context.store.read(lambda snapshot: q.unfinished_jobs(snapshot, most=ALL_JOBS))
    return [
        _resumable(row)
        for row in rows
        if project in (None, row.project) and is_own(context, row) and not has_runner(context, row.id)
    ]


def _resumable(row: Job) -> Resumable:
    """Return a job as the list of resumable work shows it. A job in the state `running` is shown as interrupted.

    The caller has made sure that no runner works on the job.
    """
    lost = row.state == "running"
    return Resumable(
        id=row.id,
        project=row.project,
        task=None,
        kind="job",
        engine=None,
        ended_at=iso(row.changed_at),
        reason=INTERRUPTED if lost else f"{row.state}: {row.reason}",
        interrupted=lost,
        conversation=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """The processes that remain of a job whose runner is dead or may be dead, or only the claim on such processes."""

    job: str
    # The runner, for people; empty when no claim names it.
    runner: str
    processes: tuple[Identity, ...] = ()
    # Whether another home or host claimed the processes. Only that home can say whether they run.
    foreign: bool = False
    # Why this home may not end the processes; empty when it may.
    why_kept: str = ""

    def in_words(self) -> str:
        """Return the sentence that tells which processes of the job still run, or that only its claim remains."""
        if self.foreign:
            return "the runner of another home or host claimed them"
        if not self.processes:
            return "its runner is gone and did not release their claim"
        listed = ", ".join(str(who.pid) for who in self.processes)
        count = f"{len(self.processes)} process{'' if len(self.processes) == 1 else 'es'}"
        return f"{count} that its dead runner started still run: {listed}"


def claimed_leftovers(context: Context) -> list[Leftovers]:
    """Return one entry for each unreleased claim on the processes of a job that has no living runner.

    An entry has no processes when none is left. A claim of another home or host is always included, without its
    processes: this home cannot see them.
    """
    leftovers = (_leftovers_of_claim(context, claim) for claim in _job_process_claims(context))
    return [each for each in leftovers if each is not None]


def unclaimed_leftovers(context: Context) -> list[Leftovers]:
    """Return the processes that are marked as a job's, for each job that has no claim and no living runner."""
    claimed = {claim.job for claim in _job_process_claims(context)}
    leftovers = (
        _leftovers_without_claim(context, job) for job in sorted(set(context.world.processes.marks_of_jobs()) - claimed)
    )
    return [each for each in leftovers if each is not None]


def _job_process_claims(context: Context) -> list[Claim]:
    """Return the unreleased claims on processes that runners of any job started."""
    return [Claim.of(row) for row in context.store.read(q.open_claims_of_jobs)]


def _leftovers_of_claim(context: Context, claim: Claim) -> Leftovers | None:
    """Return the remaining processes under a runner's claim; None while that runner, or another runner of the job, lives."""
    job, runner = claim.job or "", runner_of(claim)
    shown = f"process {runner.pid}" if runner else "an unknown process"
    if not is_own(context, claim):
        return Leftovers(job=job, runner=shown, foreign=True, why_kept=why_foreign(context, claim))
    life = context.world.processes.life(runner)
    if life == "alive" or has_runner(context, job):
        return None
    processes = tuple(left_processes(claim, context.world))
    why_kept = "" if life == "dead" else f"{shown}, which ran the job, cannot be judged"
    return Leftovers(job=job, runner=shown, processes=processes, why_kept=why_kept)


def _leftovers_without_claim(context: Context, job: str) -> Leftovers | None:
    """Return the processes that are marked as the job's; None when there are none, or while the job has a runner.

    An older fleet started such processes: it made no claims.
    """
    if has_runner(context, job):
        return None
    processes = tuple(context.world.processes.of_job(job))
    known = context.store.read(lambda rows: q.job_by_id(rows, id=job)) is not None
    why_kept = "" if known else "the job is not in the tables: was a backup restored?"
    return Leftovers(job=job, runner="", processes=processes, why_kept=why_kept) if processes else None
