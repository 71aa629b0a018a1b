"""Sweeping: what a job's runner died over: processes that it started itself, and worktrees of items that are over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.results.home import Swept
from fleet.store import queries as q
from fleet.verbs.homes.ownership import is_own
from fleet.verbs.jobs import records
from fleet.verbs.jobs.abandoned import Left, left_by_runners, left_without_claim
from fleet.verbs.jobs.items import merge_item
from fleet.verbs.jobs.items.own_processes import end_left
from fleet.verbs.sweep.finding import act_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.store.queries import JobLitter
    from fleet.verbs.context import Context


def litter(context: Context, *, kill: bool) -> Iterator[Swept]:
    """Bundles of items that are over, of jobs that nobody runs."""
    for row in context.store.read(q.job_litter):
        if not is_own(context, row):
            continue  # the gate of another home's job is not here
        gate = context.world.work_gate(f"job-{row.job}", row.job)
        try:
            gate.take()
        except errors.GateHeld:
            continue
        try:
            finding = _let_go(context, row, kill=kill)
        finally:
            gate.give()
        yield finding


def _let_go(context: Context, row: JobLitter, *, kill: bool) -> Swept:
    job = context.store.read(lambda rows: records.job_of(rows, row.job))
    status = "done" if row.state == "done" else "abandoned"
    proof = f"the item is {row.state}, the job is {row.job_state}, and nobody runs it"
    return act_on(f"the bundle of {row.project}/{row.slug}", "its item is over", proof, "let it go", kill,
                  lambda: merge_item.let_go(context, job, row.item, status=status))  # fmt: skip


def left_running(context: Context, *, kill: bool) -> Iterator[Swept]:
    """What runners started themselves and left behind. Touched only when the runner is proven dead and nobody has the job in hand."""
    for each in (*left_by_runners(context), *left_without_claim(context)):
        what, why = f"processes of job {each.job}", each.in_words()
        if each.hands_off:
            yield Swept(what=what, why=why, proof=each.hands_off, action="left alone", standing=True)
            continue
        proof = f"{each.runner}, which ran the job, is dead" if each.runner else "nobody holds the job's gate"
        action = "kill them and release their claim" if each.whom else "release their claim"
        yield act_on(what, why, proof, action, kill, lambda: _end(context, each))  # noqa: B023


def _end(context: Context, left: Left) -> None:
    """Behind the job's gate: no runner can begin meanwhile."""
    with context.world.work_gate(f"job-{left.job}", left.job):
        end_left(context, left.job)
