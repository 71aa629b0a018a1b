"""Jobs that are left: whose runner died over them, or that wait to be taken up again; and the processes that it left running."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.settling import INTERRUPTED
from fleet.model.results.dispatches import Resumable
from fleet.model.text.times import iso
from fleet.resources.job_process import left_processes, runner_of
from fleet.store import queries as q
from fleet.verbs.homes.ownership import is_own, why_foreign

if TYPE_CHECKING:
    from fleet.model.identity import Identity
    from fleet.store.queries import Job
    from fleet.verbs.context import Context

_MOST = 1_000


def has_runner(context: Context, ident: str) -> bool:
    """Whether a runner has the job in hand, as its gate says. The gate itself is not touched: a runner may just want it."""
    holder = context.world.work_gate(f"job-{ident}", ident).holder()
    return holder is not None and context.world.processes.life(holder.who) != "dead"


def left_jobs(context: Context, project: str | None) -> list[Resumable]:
    """Jobs that could be resumed."""
    rows = context.store.read(lambda snapshot: q.listed_jobs(snapshot, project=project, most=_MOST))
    left = [
        row
        for row in rows
        if row.state in {"running", "paused", "failed"} and is_own(context, row) and not has_runner(context, row.id)
    ]
    return [_resumable(row) for row in left]


def _resumable(row: Job) -> Resumable:
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
class Left:
    """What a runner that does not live any more, as far as is known, has left of a job."""

    job: str
    # The runner for people; empty when no claim names it.
    runner: str
    whom: tuple[Identity, ...] = ()
    # Another home started them, and only that one can say whether they run.
    foreign: bool = False
    # Why nothing may be done about it here; empty when something may.
    hands_off: str = ""

    def in_words(self) -> str:
        """Which processes still run."""
        if self.foreign:
            return "the runner of another home or host claimed them"
        if not self.whom:
            return "its runner is gone and did not release their claim"
        listed = ", ".join(str(who.pid) for who in self.whom)
        count = f"{len(self.whom)} process{'' if len(self.whom) == 1 else 'es'}"
        return f"{count} that its dead runner started still run: {listed}"


def left_by_runners(context: Context) -> list[Left]:
    """Jobs with a claim whose runner is not known to live."""
    found = (_left(context, claim) for claim in _claims(context))
    return [each for each in found if each is not None]


def left_without_claim(context: Context) -> list[Left]:
    """Jobs whose mark is on processes though nobody claims them."""
    claimed = {claim.job for claim in _claims(context)}
    found = (_unclaimed(context, job) for job in sorted(set(context.world.processes.marks_of_jobs()) - claimed))
    return [each for each in found if each is not None]


def _claims(context: Context) -> list[Claim]:
    return [Claim.of(row) for row in context.store.read(lambda rows: q.open_claims_of_jobs(rows))]


def _left(context: Context, claim: Claim) -> Left | None:
    """What the runner of a claim has left; None while it lives, or another runner has the job in hand."""
    job, runner = claim.job or "", runner_of(claim)
    shown = f"process {runner.pid}" if runner else "an unknown process"
    if not is_own(context, claim):
        return Left(job=job, runner=shown, foreign=True, hands_off=why_foreign(context, claim))
    life = context.world.processes.life(runner)
    if life == "alive" or has_runner(context, job):
        return None
    whom = tuple(left_processes(claim, context.world))
    hands_off = "" if life == "dead" else f"{shown}, which ran the job, cannot be judged"
    return Left(job=job, runner=shown, whom=whom, hands_off=hands_off)


def _unclaimed(context: Context, job: str) -> Left | None:
    """Processes with the mark of a job that has no claim: a fleet without these claims has started them."""
    if has_runner(context, job):
        return None
    whom = tuple(context.world.processes.of_job(job))
    known = context.store.read(lambda rows: q.job_by_id(rows, id=job)) is not None
    hands_off = "" if known else "the job is not in the tables: was a backup restored?"
    return Left(job=job, runner="", whom=whom, hands_off=hands_off) if whom else None
