"""Who acts: a dispatch, a named somebody, or the person at the keyboard."""

from __future__ import annotations

from fleet import errors
from fleet.model import names
from fleet.model.results.value import Value


class Caller(Value):
    """One request: who makes it, when, and under which idempotency key."""

    actor: str
    at: int
    key: str
    dispatch: names.DispatchId | None = None

    def without_task(self) -> Caller:
        """The same request by somebody who has no task of its own, as a person has none."""
        return Caller(actor=self.actor, at=self.at, key=self.key)


def identify_actor(*, dispatch: str | None, named: str | None, person: str) -> tuple[str, names.DispatchId | None]:
    """The actor's name, and the dispatch it is, if it is one."""
    if dispatch:
        if named is not None:
            raise errors.ActorIsGiven(given=named, dispatch=dispatch)
        ident = names.DispatchId(dispatch, source="FLEET_DISPATCH_ID")
        return ident, ident
    return names.actor(named if named is not None else person), None
