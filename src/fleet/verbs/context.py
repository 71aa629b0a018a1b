"""What verbs are given: who asks, the store, the world, and the projects and settings as they were when they were first read."""

from __future__ import annotations

from fleet import errors
from fleet.model import names
from fleet.model.agents.actors import Caller
from fleet.model.results.value import Value
from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from fleet.model.settings.table import SettingValue
    from fleet.store.queries import Dispatch, Project
    from fleet.store.transaction import Change, Store
    from fleet.world.clock import Clock
    from fleet.world.ids import Ids
    from fleet.world.world import World

    T = TypeVar("T")


class Committer:
    """Commits changes in the name of one actor, and of the dispatch that it is, if it is one."""

    __slots__ = ("actor", "clock", "dispatch", "ids", "refusal", "store")

    def __init__(self, *, store: Store, actor: str, dispatch: names.DispatchId | None, clock: Clock, ids: Ids) -> None:
        self.store = store
        self.actor = actor
        self.dispatch = dispatch
        self.clock = clock
        self.ids = ids
        # Why nothing is committed: the home was moved or copied.
        self.refusal: errors.FleetError | None = None

    def caller(self, key: str | None = None) -> Caller:
        """A request by this actor, now; under a new key if none is given."""
        made = self.ids.key() if key is None else names.key(key)
        return Caller(actor=self.actor, at=self.clock.now(), key=made, dispatch=self.dispatch)

    def commit(self, change: Change[T], key: str | None = None) -> T:
        """Commit a change. A home that was moved changes nothing before it is repaired."""
        if self.refusal is not None:
            raise self.refusal
        return self.commit_anyway(change, key)

    def commit_anyway(self, change: Change[T], key: str | None = None) -> T:
        """Commit a change in a home that was moved too: for what only changes rows and is needed before a repair."""
        result = self.store.transact(change.why, change.work, self.caller(key), *change.request)
        if change.returns is None or isinstance(result, Value):
            return result
        return change.returns.from_json(result)  # it was committed before, under the same key


class Request:
    """One request at one home. It reads the projects once, and the settings of each project once."""

    __slots__ = ("_projects", "_settings", "by", "home", "store")

    def __init__(self, *, home: str, by: Committer) -> None:
        self.home = home
        self.by = by
        self.store = by.store
        self._projects: dict[str, Project] = {}
        self._settings: dict[str | None, dict[str, SettingValue]] = {}

    def commit(self, change: Change[T], key: str | None = None) -> T:
        """Commit a change in the name of whoever asks."""
        return self.by.commit(change, key)

    def forget(self) -> None:
        """Read projects and settings anew from now on: for each round of a request that runs for long."""
        self._projects = {}
        self._settings = {}

    def projects(self) -> dict[str, Project]:
        """Every project by its name."""
        if not self._projects:
            self._projects = {row.name: row for row in self.store.read(q.all_projects)}
        return self._projects

    def project(self, name: str) -> Project:
        """A registered project."""
        names.project(name)
        if name not in self.projects():
            raise errors.NoSuchProject(project=name)
        return self._projects[name]

    def settings(self, project: str | None = None) -> dict[str, SettingValue]:
        """Every setting as it counts and where it comes from; a project's own too if one is named."""
        if project not in self._settings:
            self._settings[project] = self._read_settings(project)
        return self._settings[project]

    def _read_settings(self, project: str | None) -> dict[str, SettingValue]:
        from fleet.world.home.settings import settings_of, trusted_settings

        if project is None:
            return settings_of(self.home, None)
        return trusted_settings(self.home, project, self.project(project).path)

    def setting(self, name: str, project: str | None = None) -> Any:  # noqa: ANN401 - as the table of settings says
        """One setting as it counts. A command that nobody has trusted is refused, never taken for one that is not set."""
        setting = self.settings(project)[name]
        if setting.untrusted == "runs":
            raise errors.NotTrusted(project=project, settings=name)
        return setting.value

    def dispatch(self, ident: str) -> Dispatch:
        """The journal of a dispatch that is in the tables."""
        row = self.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
        if row is None:
            raise errors.NoSuchDispatch(dispatch=ident)
        return row


class Context(Request):
    """A request with everything outside."""

    __slots__ = ("world",)

    def __init__(self, *, home: str, by: Committer, world: World) -> None:
        super().__init__(home=home, by=by)
        self.world = world
        world.know_repositories(frozenset(row.path for row in self.projects().values()))


class RowsOnly(Context):
    """A request that only changes rows, and does so in a home that was moved too."""

    __slots__ = ()

    def commit(self, change: Change[T], key: str | None = None) -> T:
        """Commit a change, whatever speaks against the home."""
        return self.by.commit_anyway(change, key)
