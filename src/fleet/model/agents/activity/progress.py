"""Decide how many handoffs in a row have brought nothing: no commit, no artifact, no change of the plan. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.store.queries import Handoff


def fruitless_handoffs(mark: str | None, before: Handoff | None, *, has_work: bool) -> int:
    """Return how many handoffs in a row have brought nothing, up to the one whose work has this mark.

    `before` is the handoff before it of the same task; after one for which the task was parked, the count starts anew.
    Without `before` it counts whether there is any work. A mark that is unknown (None) adds nothing to the count.
    """
    if before is None or before.parked_at is not None or before.mark is None:
        return 0 if has_work or mark is None else 1
    count = before.fruitless or 0
    if mark is None:
        return count
    return count + 1 if mark == before.mark else 0


def describe_fruitless(count: int, agents: Sequence[str], reason: str, dollars: float) -> str:
    """Say why a task is parked after handoffs that brought nothing, and what its handed-off agents cost, where that is known."""
    many = "1 handoff" if count == 1 else f"{count} handoffs in a row"
    names = ", ".join(agents)
    cost = f", ${dollars:.2f} so far" if dollars else ""
    return f"{many} brought no commit, artifact or changed plan (agents {names}{cost}; the last: {reason})"
