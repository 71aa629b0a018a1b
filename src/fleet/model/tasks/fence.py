"""Who may change a task. Decided here, without acting; the queries compare once more.

An agent's word counts only while the task is its own. A person may always speak, but takes a task away from a living
attempt only by saying so.
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
        """A row of a task, as far as readiness goes."""

        @property
        def paused(self) -> int: ...
        @property
        def open_blockers(self) -> int: ...
        @property
        def not_before(self) -> int | None: ...

    class State(Waits, Protocol):
        """A row of a task, as far as the fence goes."""

        @property
        def status(self) -> TaskStatus: ...
        @property
        def assignee(self) -> str | None: ...
        @property
        def stage(self) -> str: ...
        @property
        def attempted(self) -> int: ...


# What a task is after each report.
OUTCOME: dict[Ending, TaskStatus] = {"done": "done", "fail": "failed", "block": "blocked", "abandon": "abandoned"}


def check_agent(project: str, slug: str, state: State, caller: Caller) -> None:
    """Refuse a dispatch that is no longer the task's."""
    if caller.dispatch is not None and state.assignee != caller.dispatch:
        raise _superseded_error(project, slug, state, caller)


def is_repeated(project: str, slug: str, state: State, event: Ending, caller: Caller) -> bool:
    """Whether this report was made before. Another one by the same agent is refused: the first counts."""
    check_agent(project, slug, state, caller)
    if state.status == OUTCOME[event]:
        return True
    if caller.dispatch is not None and state.status != "in_progress":
        raise _superseded_error(project, slug, state, caller)
    return False


def check_person(project: str, slug: str, state: State, caller: Caller, *, override: bool) -> None:
    """Refuse a person who would change a task under somebody's hands without saying so."""
    held = state.status == "in_progress" and state.assignee != caller.actor and not is_waiting(state)
    if held and not override:
        raise errors.NeedsOverride(project=project, slug=slug, holder=state.assignee)


def is_waiting(state: State) -> bool:
    """Whether its work is done and waits for a verdict or a merge, in nobody's hands."""
    return state.stage in {"review", "finisher"} and not state.attempted


def why_not_ready(state: Waits, *, now: int) -> str:
    """What an open task waits for, in a few words; empty when it is ready."""
    if state.paused:
        return "it is paused"
    if state.open_blockers:
        n = state.open_blockers
        return f"{n} {'dependency is' if n == 1 else 'dependencies are'} not done"
    if state.not_before is not None and state.not_before > now:
        return f"it waits until {times.iso(state.not_before)}"
    return ""


def step(project: str, slug: str, state: State, event: str) -> TaskStatus:
    """The status after the event, by the table of steps."""
    return steps.step(project, slug, state.status, event)


def _superseded_error(project: str, slug: str, state: State, caller: Caller) -> errors.Superseded:
    return errors.Superseded(
        who=f"dispatch {caller.dispatch}", project=project, slug=slug, now=_describe_assignee(state, caller)
    )


def _describe_assignee(state: State, caller: Caller) -> str:
    if state.assignee == caller.dispatch:
        return f"it was reported {state.status} before"
    if state.assignee is None:
        return f"it is {state.status}"
    return f"it is {state.status}, with {state.assignee}"
