"""The fence: who may change a task. Pure.

The queries check the same conditions again when they write. An agent may report only while the task is assigned to it.
A person may always report, but needs `override` to take a task from a running agent.
"""

from __future__ import annotations

from fleet import errors
from fleet.model.tasks import steps
from fleet.model.text import times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, Protocol

    from fleet.model.agents.actors import Caller
    from fleet.model.states import TaskStatus

    Ending = Literal["done", "fail", "block", "abandon"]

    class Waits(Protocol):
        """The columns of a task that decide whether it is ready."""

        @property
        def paused(self) -> int: ...
        @property
        def open_blockers(self) -> int: ...
        @property
        def not_before(self) -> int | None: ...

    class Assigned(Protocol):
        """The columns of a task that say who works on it."""

        @property
        def status(self) -> TaskStatus: ...
        @property
        def assignee(self) -> str | None: ...

    class State(Assigned, Waits, Protocol):
        """The columns of a task that decide who may change it."""

        @property
        def stage(self) -> str: ...
        @property
        def attempted(self) -> int: ...


# The status of a task after each report.
OUTCOME: dict[Ending, TaskStatus] = {"done": "done", "fail": "failed", "block": "blocked", "abandon": "abandoned"}


def holder(state: Assigned) -> str | None:
    """Return who works on a task, a dispatch or a person; None when nobody does."""
    return state.assignee if state.status == "in_progress" else None


def check_agent(project: str, slug: str, state: State, caller: Caller) -> None:
    """Raise Superseded when an agent calls and is no longer the assignee of the task."""
    if caller.dispatch is not None and state.assignee != caller.dispatch:
        raise _superseded_error(project, slug, state, caller)


def is_repeated(project: str, slug: str, state: State, event: Ending, caller: Caller) -> bool:
    """Return whether a report (`event`) only repeats the status that the task already has.

    Raise Superseded when an agent reports on a task that it has lost, or for which it reported something else before.
    """
    check_agent(project, slug, state, caller)
    if state.status == OUTCOME[event]:
        return True
    if caller.dispatch is not None and state.status != "in_progress":
        raise _superseded_error(project, slug, state, caller)
    return False


def check_person(project: str, slug: str, state: State, caller: Caller, *, override: bool) -> None:
    """Raise NeedsOverride when the caller, a person, would change without `override` what somebody else works on.

    Nobody works on a task that waits for a review or a merge.
    """
    held = state.status == "in_progress" and state.assignee != caller.actor and not waits_for_review_or_merge(state)
    if held and not override:
        raise errors.NeedsOverride(project=project, slug=slug, holder=state.assignee)


def waits_for_review_or_merge(state: State) -> bool:
    """Return whether the finished work of a task waits for a review or a merge, and no dispatch works on the task."""
    return state.stage in {"review", "finisher"} and not state.attempted


def why_not_ready(state: Waits, *, now: int) -> str:
    """Return what an open task waits for, as text; empty when the task is ready. `now` is in milliseconds."""
    if state.paused:
        return "it is paused"
    if state.open_blockers:
        n = state.open_blockers
        return f"{n} {'dependency is' if n == 1 else 'dependencies are'} not done"
    if state.not_before is not None and state.not_before > now:
        return f"it waits until {times.clock(state.not_before)}"
    return ""


def step(project: str, slug: str, state: State, event: str) -> TaskStatus:
    """Return the status of a task after an event; raise IllegalStep when the table of steps does not allow the event."""
    return steps.step(project, slug, state.status, event)


def _superseded_error(project: str, slug: str, state: State, caller: Caller) -> errors.Superseded:
    return errors.Superseded(
        who=f"dispatch {caller.dispatch}", project=project, slug=slug, now=_describe_assignee(state, caller)
    )


def _describe_assignee(state: State, caller: Caller) -> str:
    """Return the status of the task and who has it now, for the error to a caller that has lost it."""
    if state.assignee == caller.dispatch:
        return f"it was reported {state.status} before"
    if state.assignee is None:
        return f"it is {state.status}"
    return f"it is {state.status}, with {state.assignee}"
