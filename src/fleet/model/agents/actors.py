"""Identify the actor of a request: a dispatch, a named actor, or the person at the keyboard."""

from __future__ import annotations

from fleet import errors
from fleet.model import names
from fleet.model.results.value import Value

# The variables of an agent: the secret of its launch, and the socket at which it reaches the daemon when it has no home.
TOKEN = "FLEET_TOKEN"  # noqa: S105 - the name of the variable
DOOR = "FLEET_DOOR"


class Caller(Value):
    """One request: its actor, its time, its idempotency key, and the dispatch that makes it, if an agent does."""

    actor: str
    at: int
    key: str
    dispatch: names.DispatchId | None = None

    def __init__(self, *, actor: str, at: int, key: str, dispatch: names.DispatchId | None = None) -> None:
        # One by one: every request has one.
        self.actor = actor
        self.at = at
        self.key = key
        self.dispatch = dispatch

    def without_task(self) -> Caller:
        """Return this request without its dispatch, as if a person made it."""
        return Caller(actor=self.actor, at=self.at, key=self.key)


def identify_actor(*, dispatch: str | None, named: str | None, person: str) -> tuple[str, names.DispatchId | None]:
    """Return the actor's name and its dispatch, None for a person; refuse an agent that names an actor."""
    if dispatch:
        if named is not None:
            raise errors.ActorIsGiven(given=named, dispatch=dispatch)
        ident = names.DispatchId(dispatch, source="FLEET_DISPATCH_ID")
        return ident, ident
    return names.actor(named if named is not None else person), None
