"""Look up steps in a table of states and events. The code takes every new state from such a table."""

from __future__ import annotations

from fleet import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeVar

    S = TypeVar("S", bound=str)


def step(table: Mapping[tuple[str, str], S], state: str, event: str) -> S:
    """Return the state that follows from a state and an event; raise InvariantBroken when the table has no such step."""
    after = table.get((state, event))
    if after is None:
        raise errors.InvariantBroken(doing=event, why=f"no such step from the state {state}")
    return after


def target(table: Mapping[tuple[str, str], S], event: str) -> S:
    """Return the only state to which an event leads, from whatever state.

    For a query whose WHERE clause checks the state before the event. Raise InvariantBroken when the event leads to
    several states or to none.
    """
    found = {after for (_, each), after in table.items() if each == event}
    if len(found) != 1:
        raise errors.InvariantBroken(doing=event, why=f"it leads to {len(found)} states")
    return found.pop()


def change(table: Mapping[tuple[str, str], S], state: S, event: str) -> dict[str, S]:
    """Return the states before and after a step as the parameters `before` and `after` of a compare-and-set query."""
    return {"before": state, "after": step(table, state, event)}
