"""The turn to merge: one merge or rehearsal in a project at a time; the next one waits."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from fleet import errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.verbs.context import Context

_GATE = "merge"
# Seconds, longer than any verify may take. A person may interrupt the wait: nothing has been changed before it.
_LONGEST = 12 * 3_600.0
_LOOK_AGAIN = 0.1


@contextmanager
def merge_turn(context: Context, project: str, slugs: list[str]) -> Iterator[None]:
    """Hold the project's merge gate; wait while another merge holds it. Raises GateHeld after twelve hours.

    The gate's file names `slugs`, the tasks to merge, for people whose merge has to wait.
    """
    gate = context.world.project_gate(project, _GATE, ", ".join(slugs))
    try:
        gate.take()
    except errors.GateHeld:
        gate.take(wait=_LONGEST, every=_LOOK_AGAIN)
        context.forget()  # settings may have changed meanwhile
    try:
        yield
    finally:
        gate.give()


def describe_running_merge(context: Context, project: str) -> str | None:
    """Return which merge of the project runs now, for people; None when no merge runs."""
    gate = context.world.project_gate(project, _GATE)
    try:
        gate.take()
    except errors.GateHeld:
        holder = gate.holder()
        if holder is None:
            return "another process"
        return f"{holder.id} ({holder})" if holder.id else str(holder)
    gate.give()
    return None
