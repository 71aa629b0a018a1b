"""Identify the actor of a request: a dispatch, a named actor, or the person at the keyboard."""

from __future__ import annotations

from fleet import errors
from fleet.model import FLEET_DISPATCH_ID, FLEET_DOOR, FLEET_TOKEN, names
from fleet.model.results.value import Value

# Environment variables of an agent: its token, and the socket through which it reaches the daemon when it cannot see the home.
TOKEN = FLEET_TOKEN
DOOR = FLEET_DOOR
# Acts whose own transaction checks who has the task, or who has the seat. The table of roles is not needed for them.
FENCED = frozenset(("tasks.done", "tasks.fail", "tasks.block", "tasks.claim", "coord.tick"))


class Caller(Value):
    """Who makes a request: the actor, the time, the idempotency key, and the dispatch when an agent makes it."""

    actor: str
    at: int
    key: str
    dispatch: names.DispatchId | None = None

    def __init__(self, *, actor: str, at: int, key: str, dispatch: names.DispatchId | None = None) -> None:
        # Set one by one, because every request makes a Caller and Value.__init__ is slower.
        self.actor = actor
        self.at = at
        self.key = key
        self.dispatch = dispatch

    def without_task(self) -> Caller:
        """Return this request without its dispatch, as if a person made it."""
        return Caller(actor=self.actor, at=self.at, key=self.key)


def identify_actor(*, dispatch: str | None, named: str | None, person: str) -> tuple[str, names.DispatchId | None]:
    """Return the name of the actor, and its dispatch id; None instead of the id when the actor is no agent.

    `dispatch` is the agent's dispatch id, None or '' for a person. The name is `dispatch` for an agent; else `named`, the
    name given with `--as`; else `person`. Raise ActorIsGiven when an agent also gives a name, BadId or BadName when an id
    or a name is not valid.
    """
    if dispatch:
        if named is not None:
            raise errors.ActorIsGiven(given=named, dispatch=dispatch)
        ident = names.DispatchId(dispatch, source=FLEET_DISPATCH_ID)
        return ident, ident
    return names.actor(named if named is not None else person), None
