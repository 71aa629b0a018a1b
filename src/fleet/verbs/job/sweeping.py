"""Sweeping: worktrees of a job's items that are over, whose runner died before it let them go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors import GateHeld
from fleet.store import queries as q
from fleet.verbs.finding import acted
from fleet.verbs.job import merging

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.store.transaction import Row
    from fleet.verbs.finding import Finding
    from fleet.verbs.ground import Ground


def litter(ground: Ground, *, kill: bool) -> Iterator[Finding]:
    """One that has a runner is that runner's business."""
    for row in ground.store.read(lambda rows: rows.all(q.JOB_LITTER)):
        gate = ground.world.work_gate(f"job-{row['job']}", row["job"])
        try:
            gate.take()
        except GateHeld:
            continue
        try:
            found = _let_go(ground, row, kill=kill)
        finally:
            gate.give()
        yield found


def _let_go(ground: Ground, row: Row, *, kill: bool) -> Finding:
    job = {"id": row["job"], "project": row["project"]}
    status = "done" if row["state"] == "done" else "abandoned"
    proof = f"the item is {row['state']}, the job is {row['job_state']}, and nobody runs it"
    return acted(f"the bundle of {row['project']}/{row['slug']}", "its item is over", proof, "let it go", kill,
                 lambda: merging.let_go(ground, job, row["item"], status=status))  # fmt: skip
