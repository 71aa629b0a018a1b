"""What verbs with effects stand on: the store, the world, and a way to commit as whoever asked."""

from __future__ import annotations

from fleet.errors.absent import NoSuchDispatch, NoSuchProject
from fleet.errors.refused import NotTrusted
from fleet.model import names
from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from fleet.model.settings.table import Value
    from fleet.store.transaction import Change, Row, Store
    from fleet.world.world import World


class Ground:
    """One actor at one home, with everything outside."""

    __slots__ = ("commit", "settings", "store", "world")

    def __init__(
        self,
        *,
        store: Store,
        world: World,
        commit: Callable[[Change], Row],
        settings: Callable[[str | None], dict[str, Value]],
    ) -> None:
        self.store = store
        self.world = world
        self.commit = commit
        self.settings = settings

    def setting(self, name: str, project: str | None = None) -> Any:  # noqa: ANN401 - as the table of settings says
        """One setting as it counts. A command that nobody has trusted is refused, never taken for one that is not set."""
        found = self.settings(project)[name]
        if found.untrusted == "runs":
            raise NotTrusted(project=project, settings=name)
        return found.value

    def dispatch(self, ident: str) -> Row:
        """The journal of a dispatch that is in the tables."""
        row = self.store.read(lambda rows: rows.one(q.DISPATCH_BY_ID, id=ident))
        if row is None:
            raise NoSuchDispatch(dispatch=ident)
        return row

    def project(self, name: str) -> Row:
        """A registered project."""
        row = self.store.read(lambda rows: rows.one(q.PROJECT_BY_NAME, name=names.project(name)))
        if row is None:
            raise NoSuchProject(project=name)
        return row
