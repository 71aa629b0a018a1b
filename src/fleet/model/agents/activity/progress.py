"""Count the handoffs in a row of a task that brought no progress: no commit, no artifact, no change of the plan. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.store.queries import Handoff


def fruitless_handoffs(fingerprint: str | None, before: Handoff | None, *, has_work: bool) -> int:
    """Return how many handoffs of a task in a row have brought no progress, the newest one included.

    `fingerprint` stands for the work of the task at the newest handoff; `before` is the handoff before that one, with its
    fingerprint in `mark`. Equal fingerprints mean no progress; None is unknown and does not change the count. The count
    starts again after a handoff for which the task was parked. Without a fingerprint to compare with, the newest
    handoff counts as progress if the task has any work (`has_work`).
    """
    if before is None or before.parked_at is not None or before.mark is None:
        return 0 if has_work or fingerprint is None else 1
    count = before.fruitless or 0
    if fingerprint is None:
        return count
    return count + 1 if fingerprint == before.mark else 0


def describe_fruitless(count: int, agents: Sequence[str], reason: str, dollars: float) -> str:
    """Return the reason for parking a task after handoffs without progress.

    `dollars` is the cost of the task's agents, 0 when it is not known; `reason` is that of the last handoff.
    """
    many = "1 handoff" if count == 1 else f"{count} handoffs in a row"
    names = ", ".join(agents)
    cost = f", ${dollars:.2f} so far" if dollars else ""
    return f"{many} brought no commit, artifact or changed plan (agents {names}{cost}; the last: {reason})"
