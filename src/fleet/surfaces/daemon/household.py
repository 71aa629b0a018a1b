"""Open the daemon's home for its threads: one writer for all, and for each thread a connection that reads and a world."""

from __future__ import annotations

from threading import local
from time import monotonic
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.actor import Actor, FleetOpener, person_name
from fleet.api.fleet import Fleet
from fleet.api.remote.confined import ConfinedPart
from fleet.model import FLEET_DISPATCH_ID
from fleet.model.agents.actors import identify_actor
from fleet.store.registry import open_store
from fleet.store.sqlite import SqliteStore
from fleet.surfaces.daemon.checkpoints import LAST_RESORT, Checkpoints
from fleet.surfaces.daemon.writer import SharedStore, Writer
from fleet.world.files.daemon_process import DaemonProcess
from fleet.world.process import surroundings
from fleet.world.world import World

if TYPE_CHECKING:
    from fleet.store.transaction import Store
    from fleet.world.funnel import Funnel
    from fleet.world.home.home_record import HomeRecord

    # Who asks: the dispatch id (None for a person), the actor's name (None without one), and whether the asker is an
    # agent that reaches the daemon only by the socket for agents.
    AskerKey = tuple[str | None, str | None, bool]

# The actor in the operations of the daemon's own duties.
ACTOR = "fleet-daemon"
# How many fleets, one for each asker, a thread keeps at once.
_MOST_KEPT = 256
# Seconds that the thread of the checkpoints waits for another program that holds the database.
_PATIENCE = 1.0
# Errors after which a thread opens its connection to the store again.
_STALE = (errors.StoreError,)


class PooledStore(SharedStore):
    """The store of one thread of the daemon. `close` keeps it open for the thread's next request."""

    def close(self) -> None:
        """Do nothing: the connection stays open for the next request of this thread."""

    def end(self) -> None:
        """Close the connection that reads."""
        super().close()


class DaemonFleet(Fleet):
    """A Fleet inside the daemon, which uses the world of the thread that calls it."""

    household: Household
    # Whether the asker is an agent that reaches the daemon only by the socket for agents.
    is_confined = False

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Create a part of `Fleet` when it is first used.

            For a confined agent, it is a part that refuses to read what the agent's role or project does not allow.
            """
            part = super().__getattr__(name)
            if self.is_confined:
                part = self.__dict__[name] = ConfinedPart(name, part, self)
            return part

    @property
    def world(self) -> World:
        """The world of the calling thread."""
        return self.household.world()

    @world.setter
    def world(self, world: World) -> None:
        """Raise TypeError: each thread of the daemon keeps the world that the household has made for it."""
        raise TypeError(world)


class Household(FleetOpener):
    """The daemon's home, with the writer, and a store and a world for each thread."""

    def __init__(self, home: str, record: HomeRecord, funnel: Funnel) -> None:
        self.home = home
        self.record = record
        self.funnel = funnel
        self.writer = Writer(self._open_writing)
        self.checkpoints = Checkpoints(lambda: SqliteStore(home, funnel, wait=_PATIENCE))
        self._own = local()
        self._process = DaemonProcess()

    def serve(self) -> None:
        """Start the writer, and let every `Fleet.open` in this process open this home."""
        self.writer.start()
        Actor.opener = self

    def end(self, until: float) -> None:
        """Commit what waits for the writer, and stop the writer and the checkpoints. Wait at most until this monotonic time."""
        Actor.opener = None
        self.writer.stop(max(0.0, until - monotonic()))
        self.checkpoints.stop(max(0.0, until - monotonic()))

    def open(self, actor: str | None = None) -> Fleet:
        """Return a new Fleet for whoever sent the request that this thread works on (the asker).

        `actor` is the name that the asker gave with --as, None without one. In a thread without a request, the Fleet is
        for the actor with this name, or for the daemon itself when that is None.
        """
        return self._opened(*_asker_key(actor))

    def open_kept(self, actor: str | None = None) -> Fleet:
        """Return the Fleet that this thread has kept for the same asker; when there is none, open one and keep it."""
        known: dict[AskerKey, Fleet] | None = getattr(self._own, "fleets", None)
        if known is None or len(known) > _MOST_KEPT:
            known = self._own.fleets = {}
        asker = _asker_key(actor)
        if asker not in known:
            known[asker] = self._opened(*asker)
        return known[asker]

    def _opened(self, ident: str | None, named: str | None, is_confined: bool) -> Fleet:  # noqa: FBT001 - of an Asker
        """Return a new Fleet for a dispatch or a named actor; for the daemon itself when both are None."""
        name, dispatch = identify_actor(dispatch=ident, named=named, person=ACTOR)
        fleet = DaemonFleet(home=self.home, store=self.store, actor=name, dispatch=dispatch, funnel=self.funnel)
        fleet.record = self.record
        fleet.household = self
        fleet.is_confined = is_confined
        return fleet

    def world(self) -> World:
        """Return the world of the calling thread; create it at first use."""
        world: World | None = getattr(self._own, "world", None)
        if world is None:
            world = self._own.world = World(self.home, self.funnel, self.record)
            world.daemon = self._process
        return world

    def forget(self, error: BaseException) -> None:
        """Close this thread's connection if `error` is one of the store, so that the next request opens a new one.

        Do nothing for other errors.
        """
        if isinstance(error, _STALE):
            self.leave()

    def leave(self) -> None:
        """Close the store connection of the calling thread, if there is one, and forget the thread's Fleets."""
        store: PooledStore | None = getattr(self._own, "store", None)
        if store is not None:
            del self._own.store
            self._own.fleets = {}
            store.end()

    @property
    def store(self) -> PooledStore:
        """The store of the calling thread; opened at first use."""
        store: PooledStore | None = getattr(self._own, "store", None)
        if store is None:
            store = self._own.store = PooledStore(self.writer, self._open_reading)
        return store

    def _open_reading(self) -> Store:
        return open_store(self.home, self.funnel, had=self.record.database)

    def _open_writing(self) -> Store:
        """Open the writer's connection to the store.

        With SQLite, it waits for the write lock without a time limit, and a thread copies the write-ahead log.
        """
        store = open_store(self.home, self.funnel, had=self.record.database)
        if isinstance(store, SqliteStore):
            store.leave_checkpoints(LAST_RESORT)
            self.writer.counted = self.checkpoints.count
            self.checkpoints.start()
            store.patience = None  # only a thread that waits in the kernel's queue gets its turn among other processes
        return store


def _asker_key(actor: str | None) -> AskerKey:
    """Return the dispatch id and the actor name of the asker that this thread works for, and whether it is confined.

    A confined asker is an agent that reaches fleet only by the socket for agents.

    Without an asker, return (None, `actor`, False).
    """
    asker = surroundings.asker()
    if asker is None:
        return None, actor, False
    ident = asker.environ.get(FLEET_DISPATCH_ID)
    return ident, person_name() if actor is None and not ident else actor, asker.is_confined
