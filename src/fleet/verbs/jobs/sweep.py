"""Sweep what dead runners of jobs left: processes that they started, and worktrees of ended items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.results.home import Swept
from fleet.store import queries as q
from fleet.verbs.homes.ownership import is_own
from fleet.verbs.jobs import records
from fleet.verbs.jobs.abandoned import Leftovers, claimed_leftovers, unclaimed_leftovers
from fleet.verbs.jobs.items import merge_item
from fleet.verbs.jobs.items.own_processes import end_leftovers
from fleet.verbs.sweep.finding import act_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.store.queries import JobLitter
    from fleet.verbs.context import Context


def sweep_ended_items(context: Context, *, acts: bool) -> Iterator[Swept]:
    """Release the worktrees of ended items in jobs of this home without a runner; yield a finding for each.

    Without `acts`, only report them.
    """
    for row in context.store.read(q.job_litter):
        if not is_own(context, row):
            continue  # the gate of another home's job is in that home
        gate = context.world.work_gate(f"job-{row.job}", row.job)
        try:
            gate.take()
        except errors.GateHeld:
            continue
        try:
            finding = _release_item(context, row, acts=acts)
        finally:
            gate.give()
        yield finding


def _release_item(context: Context, row: JobLitter, *, acts: bool) -> Swept:
    """Release the worktree of an ended item and return the finding; without `acts`, only return the finding."""
    job = context.store.read(lambda rows: records.job_of(rows, row.job))
    status = "done" if row.state == "done" else "abandoned"
    proof = f"the item is {row.state}, the job is {row.job_state}, and nobody runs it"
    return act_on(f"the bundle of {row.project}/{row.slug}", "its item is over", proof, "let it go", acts,
                 lambda: merge_item.release_item(context, job, row.item, status=status))  # fmt: skip


def sweep_leftovers(context: Context, *, acts: bool) -> Iterator[Swept]:
    """Kill the processes that dead runners left, and release their claims; yield a finding for each job.

    Without `acts`, only report them. Processes are left alone while their own runner, or another runner of the job, may
    be alive.
    """
    for each in (*claimed_leftovers(context), *unclaimed_leftovers(context)):
        what, why = f"processes of job {each.job}", each.in_words()
        if each.why_kept:
            yield Swept(what=what, why=why, proof=each.why_kept, action="left alone", standing=True)
            continue
        proof = f"{each.runner}, which ran the job, is dead" if each.runner else "nobody holds the job's gate"
        action = "kill them and release their claim" if each.processes else "release their claim"
        yield act_on(what, why, proof, action, acts, lambda: _end_leftovers(context, each))  # noqa: B023


def _end_leftovers(context: Context, left: Leftovers) -> None:
    """Kill the processes while holding the job's gate, so that no runner can start meanwhile.

    Raises GateHeld when a runner has started, and what `end_leftovers` raises.
    """
    with context.world.work_gate(f"job-{left.job}", left.job):
        end_leftovers(context, left.job)
