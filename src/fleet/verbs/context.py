"""The context that a verb gets: who asks, the store, the world, and the projects and settings, each read once."""

from __future__ import annotations

from fleet import errors
from fleet.model import names
from fleet.model.agents.actors import Caller
from fleet.model.results.value import Value
from fleet.store import queries as q
from fleet.store.transaction import fingerprint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from fleet.model.settings.table import SettingValue
    from fleet.model.settings.values import SettingValues
    from fleet.store.queries import Dispatch, Project
    from fleet.store.transaction import Change, Store
    from fleet.world.clock import Clock
    from fleet.world.ids import Ids
    from fleet.world.world import World

    T = TypeVar("T")


class Committer:
    """Commits changes in the name of one actor. `dispatch` is the actor's dispatch if the actor is an agent, else None."""

    __slots__ = ("_invocation", "_steps", "actor", "clock", "dispatch", "ids", "refusal", "store")

    def __init__(self, *, store: Store, actor: str, dispatch: names.DispatchId | None, clock: Clock, ids: Ids) -> None:
        self.store = store
        self.actor = actor
        self.dispatch = dispatch
        self.clock = clock
        self.ids = ids
        # Why nothing may be committed (the home was moved or copied); None when commits are allowed.
        self.refusal: errors.FleetError | None = None
        # The key of the invocation that changes belong to now; None outside of one.
        self._invocation: str | None = None
        self._steps: dict[str, int] = {}

    def caller(self, key: str | None = None) -> Caller:
        """Return the Caller of a request that this actor makes at this moment.

        `key` is the request's idempotency key; with None a new key is made. Raise BadName when the key is not valid.
        """
        if key is None:
            key = self.ids.key()
        elif key != self._invocation:  # the invocation's own key was checked when the invocation began
            names.key(key)
        return Caller(actor=self.actor, at=self.clock.now(), key=key, dispatch=self.dispatch)

    def commit(self, change: Change[T], key: str | None = None) -> T:
        """Commit a change and return its result. For a `key` that was committed before, return the stored result.

        `key` is the idempotency key; with None it is derived from the invocation, or is new outside of one. Raise the
        error in `refusal` when the home was moved or copied.
        """
        if self.refusal is not None:
            raise self.refusal
        return self.commit_anyway(change, key)

    def commit_anyway(self, change: Change[T], key: str | None = None) -> T:
        """Commit a change as `commit` does, but also in a home that was moved or copied.

        Only for changes of rows that have to be possible before the home is repaired.
        """
        by = self.caller(self._step_key(change) if key is None else key)
        result = self.store.transact(change.why, change.work, by, *change.request)
        if change.returns is None or result is None or isinstance(result, Value):
            return result
        return change.returns.from_json(result)  # the stored result: this key was committed before

    def under(self, key: str | None) -> Invocation:
        """Return a context manager: the changes committed in its `with` block belong to one invocation.

        The idempotency key of each change is derived from the invocation's `key`; with None, each gets a new key.
        """
        return Invocation(self, key)

    def begin_invocation(self, key: str | None) -> None:
        """Derive the idempotency key of each following change from `key`; with None, each gets a new key."""
        self._invocation = None if key is None else names.key(key)
        self._steps = {}

    def end_invocation(self) -> None:
        """End the invocation: each following change gets a new idempotency key."""
        self._invocation = None

    def has_committed(self, why: str) -> bool:
        """Return whether the invocation has committed a change with the reason `why`; False outside an invocation.

        An earlier run of the invocation, with the same key, counts too.
        """
        if self._invocation is None:
            return False
        beginning = f"{self._invocation}:"
        return any(
            row.why == why
            for row in self.store.read(lambda rows: q.operations_of_invocation(rows, beginning=beginning))
        )

    def _step_key(self, change: Change[T]) -> str | None:
        """Return the idempotency key for a change that the invocation commits next; None outside an invocation.

        A repeated invocation derives the same keys, so changes that were committed before are not made again. A change
        that is made several times in one invocation gets a different key each time.
        """
        if self._invocation is None:
            return None
        step = fingerprint(change.why, change.request)
        number = self._steps[step] = self._steps.get(step, 0) + 1
        return f"{self._invocation}:{fingerprint(self._invocation, (step, number))}"


class Invocation:
    """The context manager of one invocation; see `Committer.under`."""

    __slots__ = ("_by", "_key")

    def __init__(self, by: Committer, key: str | None) -> None:
        self._by = by
        self._key = key

    def __enter__(self) -> None:
        self._by.begin_invocation(self._key)

    def __exit__(self, *_: object) -> None:
        self._by.end_invocation()


class Request:
    """One request at one fleet home. Reads the list of projects once, and the settings of each project once."""

    __slots__ = ("_projects", "_settings", "_values", "by", "home", "store")

    def __init__(self, *, home: str, by: Committer) -> None:
        self.home = home
        self.by = by
        self.store = by.store
        self._projects: dict[str, Project] = {}
        self._settings: dict[str | None, dict[str, SettingValue]] = {}
        self._values: dict[str | None, SettingValues] = {}

    def commit(self, change: Change[T], key: str | None = None) -> T:
        """Commit a change in the name of this request's actor, and return its result. `key`: see `Committer.commit`."""
        return self.by.commit(change, key)

    def forget(self) -> None:
        """Forget the projects and settings read so far, so that the next round of a long request reads them again."""
        self._projects = {}
        self._settings = {}
        self._values = {}

    def projects(self) -> dict[str, Project]:
        """Return all registered projects by name."""
        if not self._projects:
            self._projects = {row.name: row for row in self.store.read(q.all_projects)}
        return self._projects

    def project(self, name: str) -> Project:
        """Return a registered project. Raise NoSuchProject when the name is not registered."""
        names.project(name)
        if name not in self.projects():
            raise errors.NoSuchProject(project=name)
        return self._projects[name]

    def settings(self, project: str | None = None) -> SettingValues:
        """Return the value of every setting; include the project's own settings when a project is named."""
        if project not in self._values:
            from fleet.model.settings.values import SettingValues

            self._values[project] = SettingValues(self.settings_with_sources(project), project)
        return self._values[project]

    def settings_with_sources(self, project: str | None = None) -> dict[str, SettingValue]:
        """Return every setting with its value and source, by name, as `settings` does."""
        if project not in self._settings:
            self._settings[project] = self._read_settings(project)
        return self._settings[project]

    def _read_settings(self, project: str | None) -> dict[str, SettingValue]:
        """Read the settings of the home, or of the home and a project, from their files."""
        from fleet.world.home.settings import settings_of, trusted_settings

        if project is None:
            return settings_of(self.home, None)
        return trusted_settings(self.home, project, self.project(project).path)

    def value_of(self, name: str) -> SettingValue:
        """Return one setting of the home, with its source and what is wrong with it."""
        return self.settings_with_sources()[name]

    def dispatch(self, ident: str) -> Dispatch:
        """Return the row of a dispatch. Raise NoSuchDispatch when the store has none, for example after archiving."""
        row = self.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
        if row is None:
            raise errors.NoSuchDispatch(dispatch=ident)
        return row


class Context(Request):
    """A request that may also use the world: processes, git, tmux, files, clock."""

    __slots__ = ("world",)

    def __init__(self, *, home: str, by: Committer, world: World) -> None:
        super().__init__(home=home, by=by)
        self.world = world
        world.know_repositories(frozenset(row.path for row in self.projects().values()))


class StorelessContext(Context):
    """A request that is made while the store cannot be read. It knows no projects, so git may run in no repository."""

    __slots__ = ()

    def __init__(self, *, home: str, by: Committer, world: World) -> None:
        Request.__init__(self, home=home, by=by)
        self.world = world
        world.know_repositories(frozenset())


class RowsOnly(Context):
    """A request that changes rows only, and may therefore commit in a home that was moved."""

    __slots__ = ()

    def commit(self, change: Change[T], key: str | None = None) -> T:
        """Commit a change even when the home was moved or copied."""
        return self.by.commit_anyway(change, key)
