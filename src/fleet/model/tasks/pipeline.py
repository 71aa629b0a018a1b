"""The pipeline: which stage of a task follows which, and who works at it. Pure.

worker ──done──▶ review ──accept──▶ finisher ──merged──▶ done
                   │ send back         │ red verify   │ conflict
                   ▼                   ▼              ▼
                  fix                 fix           rebase        each then goes on as a worker does: its commit is a new one
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import DispatchKind

# Who works at a stage. The finisher is fleet itself.
KIND_AT: dict[str, DispatchKind] = {
    "worker": "worker",
    "review": "reviewer",
    "fix": "fix",
    "rebase": "rebase",
    "finisher": "finisher",
}
STAGE_OF: dict[str, str] = {kind: stage for stage, kind in KIND_AT.items()}
MENDING = frozenset({"fix", "rebase"})
# Dispatches whose commits are the task's work.
WORKING = frozenset({"worker", "fix", "rebase"})


def after_work(kind: str, review: str | None) -> str:
    """The stage that follows when a worker, fix or rebase is done."""
    return "review" if kind in WORKING and review in {"person", "agent"} else "finisher"
