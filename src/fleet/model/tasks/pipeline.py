"""The pipeline: which stage of a task follows which, and who works at it. Pure.

worker ──done──▶ review ──accept──▶ finisher ──merged──▶ done
                   │ send back         │ red verify   │ conflict
                   ▼                   ▼              ▼
                  fix                 fix           rebase        each then goes on as a worker does: its commit is a new one
"""

from __future__ import annotations

# Who works at a stage. The finisher is fleet itself.
KIND_AT = {"worker": "worker", "review": "reviewer", "fix": "fix", "rebase": "rebase", "finisher": "finisher"}
STAGE_OF = {kind: stage for stage, kind in KIND_AT.items()}
MENDING = frozenset({"fix", "rebase"})
# Dispatches whose commits are the task's work.
WORKING = frozenset({"worker", "fix", "rebase"})


def after_work(kind: str, review: str | None) -> str:
    """The stage that follows when a worker, fix or rebase is done."""
    return "review" if kind in WORKING and review in {"person", "agent"} else "finisher"
