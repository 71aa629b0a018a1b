"""The class Actor, on which `Fleet` is built: one person or agent that uses one fleet home.

It imports as little as possible.
"""

from __future__ import annotations

import os
import pwd

from fleet import errors
from fleet.model import FLEET_DIRECT, FLEET_DISPATCH_ID, FLEET_PROJECT, FLEET_TASK, names
from fleet.model.agents.actors import DOOR, FENCED, identify_actor
from fleet.store import queries as q
from fleet.store.registry import open_store
from fleet.verbs.context import Committer, Context, Request
from fleet.world.clock import Clock
from fleet.world.funnel import Funnel
from fleet.world.home import home_record, paths
from fleet.world.home.location import checkout_of, directory_of_asker, home_path, ready_home, worktree_at
from fleet.world.ids import Ids
from fleet.world.process import surroundings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Self, TypeVar

    from fleet.api.permits import Speaker
    from fleet.api.remote.door import Door
    from fleet.model.agents.actors import Caller
    from fleet.store.transaction import Change, Store
    from fleet.world.files.daemon_process import DaemonProcess
    from fleet.world.files.files import Files
    from fleet.world.files.gates import Gate
    from fleet.world.home.home_record import HomeRecord
    from fleet.world.world import World

    Document = dict[str, Any]
    # Aliases for the parts that have a method named `list`.
    Documents = list[Document]
    Words = list[str]
    T = TypeVar("T")


# Every role may do these acts for its own task, and the task's fence checks that; so the table of roles is not loaded.
# Whether an agent asks as if it were a person is checked only in the daemon, where that costs no start time.
_ALLOWED_TO_ALL = frozenset(("tasks.log", "tasks.artifact"))


class FleetOpener:
    """Opens Fleets in the daemon, which has the home open already, for requests of its clients. An interface."""

    __slots__ = ()

    def open(self, actor: str | None) -> Any:  # noqa: ANN401 - a Fleet, which is built on this
        """Return a Fleet for the actor with this name.

        None: for the sender of the request that this thread performs; in a thread without a request, for the daemon.
        """
        raise NotImplementedError


class Actor:
    """One person or agent that uses one fleet home, with the home's store, clock and world."""

    # In the daemon: what opens fleets on the store that the daemon has open. None in other processes.
    opener: ClassVar[FleetOpener | None] = None

    def __init__(
        self, *, home: str, store: Store, actor: str, dispatch: names.DispatchId | None, funnel: Funnel
    ) -> None:
        self.home = home
        self.store = store
        self.actor = actor
        self.speaker = dispatch
        self.funnel = funnel
        self.clock = Clock()
        self.ids = Ids()
        self.committer = Committer(store=store, actor=actor, dispatch=dispatch, clock=self.clock, ids=self.ids)
        self.record: HomeRecord | None = None
        # The connection to the daemon that makes this actor's changes; None: this process makes them itself.
        self.door: Door | None = None
        self._world: World | None = None
        # Set when this process is the daemon of the home, before the world is used.
        self.daemon: DaemonProcess | None = None

    @classmethod
    def open(
        cls,
        home: str | None = None,
        *,
        actor: str | None = None,
        make: bool = True,
        asks_daemon: bool = True,
        needs_store: bool = True,
    ) -> Self:
        """Open a home (None: the one that the environment names) for an actor (None: the agent or person of the environment).

        With `make`, a missing home is created, but only for a person. A home that was moved or copied is opened too,
        but changes are refused with HomeMoved or HomeCopied.

        Without `asks_daemon`, this process makes its changes itself, even where a daemon runs. Without `needs_store`, a
        home that was used before is opened even if its store cannot be opened; then each use of the store raises that
        error.

        An agent that has only the daemon's socket (FLEET_DOOR) gets a `Fleet` whose every method the daemon performs.
        In the daemon itself, only `actor` counts: its home is open already.
        """
        if cls.opener is not None:
            found: Self = cls.opener.open(actor)
            return found
        ident = os.environ.get(FLEET_DISPATCH_ID)
        # Look up the person's name only when needed: it reads system files, and an agent has a name of its own.
        person = "" if ident or actor is not None else person_name()
        name, dispatch = identify_actor(dispatch=ident, named=actor, person=person)
        if home is None and os.environ.get(DOOR) and not os.environ.get(FLEET_DIRECT):
            by_door: Self = _by_door(name, dispatch)
            return by_door
        funnel, path = Funnel(), os.path.abspath(home) if home else home_path()
        where = ready_home(path, funnel, make=make and dispatch is None)
        known = home_record.read(where)
        old = known is None and _is_in_use(where)
        try:
            store = open_store(where, funnel, had=known.database if known else "")
        except errors.StoreError as error:
            if needs_store or known is None:
                raise
            store = _unusable_store(error, funnel, known.database)
        opened = cls(home=where, store=store, actor=name, dispatch=dispatch, funnel=funnel)
        if known is None or known.database != store.kind:
            known = _remember(where, funnel, store.kind, is_old=old)
        opened.record = known
        if known.path != where:
            opened.moved_error = _why_elsewhere(known, where)
        if opened.moved_error is None and (known.is_copy or not os.path.exists(f"{where}/{paths.RECORD_COPY}")):
            _save_record(known, where, funnel)
        if (
            asks_daemon
            and opened.moved_error is None
            and not os.environ.get(FLEET_DIRECT)
            and os.path.exists(f"{where}/{paths.DAEMON_SOCKET}")
        ):
            opened.door = _door(where)
        return opened

    def close(self) -> None:
        """Close the store, the connection to the daemon, and the world."""
        self.store.close()
        self.do_without_daemon()
        if self._world is not None:
            self._world.close()

    def __enter__(self) -> Self:
        """Return this actor; the end of the `with` block closes it."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def project_here(self, named: str | None = None) -> str:
        """Return the named project; with None, the project in FLEET_PROJECT, else that of the current directory.

        The project of a directory is the one whose repository or worktree contains the directory. Raise NoProject when
        there is none. Whether a named project is registered is not checked.
        """
        name = surroundings.environ().get(FLEET_PROJECT) or None if named is None else named
        if name is not None:
            return names.project(name)
        path = directory_of_asker()
        if path is None:
            raise errors.NoProject(where="the current directory, which was removed,")
        ours = worktree_at(path)
        return ours[0] if ours else self._project_at(path)

    def _project_at(self, where: str) -> str:
        """Return the project whose repository or worktree contains the directory `where`.

        Raise NoProject when there is none.
        """
        path = where
        known = {row.path: row.name for row in self.store.read(q.all_projects)}
        while path not in known:
            if path == "/":
                raise errors.NoProject(where=where)
            path = checkout_of(path) or os.path.dirname(path)
        return known[path]

    def task_here(self, usage: str) -> str:
        """Return the slug of the task in FLEET_TASK.

        Raise NoTask, with the command's usage, when the variable is not set. Raise NotInThisWorktree in a worktree of
        fleet when FLEET_DISPATCH_ID is missing.
        """
        if self.speaker is None and worktree_at(directory_of_asker() or ""):
            raise errors.NotInThisWorktree
        slug = surroundings.environ().get(FLEET_TASK)
        if not slug:
            raise errors.NoTask(usage=usage)
        return names.slug(slug)

    def commit(self, change: Change[T], key: str | None = None) -> T:
        """Commit a change to the store in the name of this actor, under an idempotency key, and return its result.

        When `key` is None, the change gets the next key of the invocation that `Committer.under` has begun, else a new
        key.
        """
        return self.committer.commit(change, key)

    def use_daemon(self) -> None:
        """Connect to the daemon of the home, if one answers; it then makes all further changes."""
        if self.door is None:
            self.door = _door(self.home)

    def do_without_daemon(self) -> None:
        """Close the connection to the daemon; this process then makes all further changes itself."""
        if self.door is not None:
            door, self.door = self.door, None
            door.close()

    def caller(self, key: str | None = None) -> Caller:
        """Return the Caller of one request: this actor, the current time and an idempotency key (`key`, or a new one)."""
        return self.committer.caller(key)

    @property
    def request(self) -> Request:
        """A new request to the store alone, not to the `world`. It reads projects and settings anew."""
        return Request(home=self.home, by=self.committer)

    @property
    def context(self) -> Context:
        """A new request to the store and the `world`. Raises the error in `moved_error` when the home was moved or copied."""
        if self.moved_error is not None:
            raise self.moved_error
        return self.view

    @property
    def view(self) -> Context:
        """A new request to the store and the `world`, only for reading. It is allowed in a moved or copied home too."""
        return Context(home=self.home, by=self.committer, world=self.world)

    @property
    def world(self) -> World:
        """The world of this home: processes, files, git, tmux, clock."""
        if self._world is None:
            from fleet.world.world import World

            self._world = World(self.home, self.funnel, self.record)
            self._world.daemon = self.daemon
        return self._world

    @world.setter
    def world(self, world: World) -> None:
        """Use another world, for example a simulated one, with its clock and ids."""
        self._world = world
        world.daemon = self.daemon
        self.clock = self.committer.clock = world.clock
        self.ids = self.committer.ids = world.ids

    @property
    def files(self) -> Files:
        """The files of the home."""
        return self.world.files

    def files_of_home(self, name: str) -> str:
        """Return the text of one file of the fleet home; bytes that are not UTF-8 are replaced.

        `name` is its path below the home and is not checked. Raise OSError when it is missing or a symlink.
        """
        return self.files.read(name).decode("utf-8", "replace")

    def gate(self, name: str) -> Gate:
        """Return the exclusive lock of this home that has this name. It is not taken yet."""
        return self.world.gate(names.slug(name))

    @property
    def moved_error(self) -> errors.FleetError | None:
        """The error that refuses every change because the home was moved or copied; None when changes are allowed."""
        return self.committer.refusal

    @moved_error.setter
    def moved_error(self, why: errors.FleetError | None) -> None:
        self.committer.refusal = why

    def may(self, act: str, *, project: str | None = None, agent: str | None = None) -> Speaker | None:
        """Raise NotAllowed when the role of the agent that speaks may not perform the act, such as "tasks.add".

        `project` and `agent` (a dispatch id) are what the act is done to; None for neither. Returns the speaking agent;
        None for a person, for acts that every agent may perform, and for acts that the store checks in their own
        transaction.
        """
        if act in _ALLOWED_TO_ALL and not self._is_agent_as_person():
            return None
        if act in FENCED and self._speaks_as_itself():
            return None
        from fleet.api.permits import Permits

        return Permits(store=self.store, home=self.home, dispatch=self.speaker).check(act, project=project, agent=agent)

    def _is_agent_as_person(self) -> bool:
        """Whether an agent's process asks the daemon without naming its dispatch, as a person would.

        False for a request that did not come through the daemon.
        """
        return self.speaker is None and surroundings.asker() is not None and bool(surroundings.marks_above(self.home))

    def _speaks_as_itself(self) -> bool:
        """Whether no other agent than the one that speaks has started this process."""
        return all(ident == self.speaker for ident in surroundings.marks_above(self.home))

    def refuse_override(self, *, override: bool) -> None:
        """Raise OverrideIsForPeople when an agent uses --override."""
        if override and self.speaker is not None:
            raise errors.OverrideIsForPeople(dispatch=self.speaker)


class Part:
    """The base of each part of `Fleet`: the methods about one topic, for one actor."""

    __slots__ = ("_by",)

    def __init__(self, by: Actor) -> None:
        self._by = by


def _by_door(actor: str, dispatch: names.DispatchId | None) -> Any:  # noqa: ANN401 - a Fleet, which is built on this
    """Return a Fleet for an agent that cannot open the home, only the daemon's socket."""
    from fleet.api.remote.by_door import FleetByDoor

    return FleetByDoor.of(actor, dispatch)


def _door(home: str) -> Door | None:
    """Return a connection to the home's daemon; None when none answers."""
    from fleet.api.remote.door import Door

    return Door.of(home)


def _unusable_store(why: errors.StoreError, funnel: Funnel, kind: str) -> Store:
    """Return a store that raises the error `why` at every use; `kind` says which kind of database it stands for."""
    from fleet.api.remote.unusable import UnusableStore

    return UnusableStore(funnel, why, kind=kind)


def _is_in_use(home: str) -> bool:
    """Whether an older fleet, which wrote no record, has used this home."""
    from fleet.world.home.home_change import is_in_use

    return is_in_use(home)


def _remember(home: str, funnel: Funnel, database: str, *, is_old: bool) -> HomeRecord:
    """Write the home's record (path, machine, kind of database) and return it.

    `is_old`: an older fleet has used the home, so the record gets the id that older versions derive from the path.
    """
    from fleet.world.home.home_change import remember

    return remember(home, funnel, database=database, is_old=is_old)


def _save_record(record: HomeRecord, home: str, funnel: Funnel) -> None:
    """Write the home's record again if only its copy is left; else write the copy if it is missing."""
    from fleet.world.home import home_change

    if record.is_copy:
        home_change.restore(home, funnel)
    else:
        home_change.keep_copy(home, funnel, record)


def _why_elsewhere(record: HomeRecord, home: str) -> errors.FleetError | None:
    """Return the error for a home that is not at the path in its record: HomeMoved or HomeCopied; None when it is fine."""
    from fleet.world.home.home_change import why_elsewhere

    return why_elsewhere(record, home)


def person_name() -> str:
    """Return the person's name as user@host, with only the characters that an actor's name may have."""
    name = f"{_user_name()}@{os.uname().nodename}"
    return "".join(char if char.isascii() and (char.isalnum() or char in "-_.@+") else "_" for char in name)[:90].strip(
        ".-@"
    )


def _user_name() -> str:
    """Return the user's name, or `uidN` when the system has no name for the user."""
    environ = surroundings.environ()
    name = environ.get("USER") or environ.get("LOGNAME")
    if name:
        return name
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid{os.getuid()}"
