"""Jobs that are left: whose runner died over them, or that wait to be taken up again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.model.settling import INTERRUPTED
from fleet.model.times import iso
from fleet.store import queries as q

if TYPE_CHECKING:
    from fleet.store.transaction import Row
    from fleet.verbs.ground import Ground

_MOST = 1_000


def has_runner(ground: Ground, ident: str) -> bool:
    """Whether a runner has the job in hand, as its gate says. The gate itself is not touched: a runner may just want it."""
    holder = ground.world.work_gate(f"job-{ident}", ident).holder()
    return holder is not None and ground.world.processes.life(holder.who) != "dead"


def left_jobs(ground: Ground, project: str | None) -> list[dict[str, Any]]:
    """Jobs that could be resumed, as what could be resumed is shown."""
    rows = ground.store.read(lambda snapshot: snapshot.all(q.LISTED_JOBS, project=project, most=_MOST))
    left = [
        row for row in rows if row["state"] in {"running", "paused", "failed"} and not has_runner(ground, row["id"])
    ]
    return [_shown(row) for row in left]


def _shown(row: Row) -> dict[str, Any]:
    lost = row["state"] == "running"
    return {
        "id": row["id"],
        "project": row["project"],
        "task": None,
        "kind": "job",
        "engine": None,
        "ended_at": iso(row["changed_at"]),
        "reason": INTERRUPTED if lost else f"{row['state']}: {row['reason']}",
        "interrupted": lost,
        "conversation": False,
    }
