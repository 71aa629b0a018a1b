"""A store that cannot be used. It stands in for one that cannot be opened, so that what needs no store still works."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from fleet.store.transaction import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.errors import FleetError
    from fleet.model.agents.actors import Caller
    from fleet.store.transaction import Rows, Tx
    from fleet.world.funnel import Funnel

T = TypeVar("T")


class UnusableStore(Store):
    """A store whose every use raises the error `why`. `kind` says which kind of database it stands for."""

    def __init__(self, funnel: Funnel, why: FleetError, *, kind: str = "none") -> None:
        super().__init__(funnel)
        self.kind = kind
        self.why = why

    def read(self, query: Callable[[Rows], T]) -> T:  # noqa: ARG002
        """Raise the error that says why this store cannot be used."""
        raise self.why

    def transact(self, why: str, work: Callable[[Tx], T], by: Caller, *request: object) -> T:  # noqa: ARG002
        """Raise the error that says why this store cannot be used."""
        raise self.why

    def close(self) -> None:
        """Do nothing: there is nothing to close."""
