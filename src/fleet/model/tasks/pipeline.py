"""The pipeline: which stage of a task follows which, and which kind of dispatch works at each stage.

worker ──done──▶ review ──accept──▶ finisher ──merged──▶ done
                   │ send back         │ red verify   │ conflict
                   ▼                   ▼              ▼
                  fix                 fix           rebase        fix and rebase then continue like worker, with a new commit
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import DispatchKind

# The kind of dispatch that works at each stage. The finisher is fleet itself, not an agent.
KIND_AT: dict[str, DispatchKind] = {
    "worker": "worker",
    "review": "reviewer",
    "fix": "fix",
    "rebase": "rebase",
    "finisher": "finisher",
}
STAGE_OF: dict[str, str] = {kind: stage for stage, kind in KIND_AT.items()}
# The stages at which an agent mends the work.
MENDING = frozenset({"fix", "rebase"})
# The kinds of dispatches whose commits are the work of the task.
WORKING = frozenset({"worker", "fix", "rebase"})
# How often agents try to mend the work of a task before a person has to look at it.
MOST_FIXES = 3


def after_work(kind: str, review: str | None) -> str:
    """Return the stage that follows when a dispatch of this kind is done: `review` or `finisher`.

    `review` is the value of the setting `review`.
    """
    return "review" if kind in WORKING and review in {"person", "agent"} else "finisher"
