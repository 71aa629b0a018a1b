"""Push committed operations to subscribed clients, such as screens, in the order of their sequence numbers.

A subscriber names the number of the last operation that it knows, and misses none after that number, also when it
reconnects. When some of these operations were rotated into the archive, the push `gap` tells it to take a new snapshot.
Operations of other processes are looked for once a second.
"""

from __future__ import annotations

from threading import Condition, Event, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.remote import wire
from fleet.store import queries as q
from fleet.verbs.views.operations import FOREVER, PAGE, newest, operation_view

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.api.remote.wire import Json
    from fleet.store.transaction import Rows
    from fleet.surfaces.daemon.household import Household
    from fleet.surfaces.daemon.serving.connection import Connection

# Seconds between two checks for operations that other processes have committed.
_LOOK = 1.0
# Least seconds between two checks while there is news all the time: quick enough for screens, and requests come first.
_APART = 0.05
# Seconds after which a check that has no answer means that the store is away: fewer than clients wait for the daemon's status.
PATIENCE = 5.0


class Subscriber:
    """One subscription: its connection, the id of its request, and the number of the last operation that it was sent."""

    __slots__ = ("after", "connection", "id")

    def __init__(self, connection: Connection, number: object, after: int) -> None:
        self.connection = connection
        self.id = number
        self.after = after


class ChangeFeed:
    """All subscriptions, and the thread that pushes operations to them."""

    def __init__(
        self,
        household: Household,
        *,
        send: Callable[[Connection, Json], None],
        tell: Callable[[int], None],
        lost: Callable[[errors.StoreReplaced], None],
        log: Callable[..., None],
    ) -> None:
        self._household = household
        self._send = send
        # Called with the newest sequence number after each change.
        self._tell = tell
        # Called when the database in use is no longer the home's.
        self._lost = lost
        self._log = log
        self._subscribers: list[Subscriber] = []
        self._changed = Condition()
        self._has_news = False
        self._is_ending = False
        # The number of the newest operation that was found.
        self._seen = 0
        # Set while no check runs; the first one begins with the thread.
        self._has_looked = Event()
        self._error: Exception | None = None
        self._thread = Thread(target=self._run, name="changes", daemon=True)

    def __len__(self) -> int:
        """Return the number of subscriptions."""
        return len(self._subscribers)

    def start(self) -> None:
        """Start the thread that pushes operations."""
        self._thread.start()

    def stop(self, until: float) -> None:
        """Stop the thread, and wait for it until this time of the monotonic clock."""
        with self._changed:
            self._is_ending = True
            self._changed.notify()
        self._thread.join(max(0.0, until - monotonic()))

    def notice(self) -> None:
        """Let the thread look for new operations soon, because something was committed."""
        if self._has_news:
            return  # the thread has not begun the look that it was told to make
        with self._changed:
            self._has_news = True
            self._changed.notify()

    def store_error(self) -> str | None:
        """Return why the store cannot be read, from the newest check; None when it can be.

        Wait at most 5 seconds for the check that runs.
        """
        has_answered, error = self._has_looked.wait(PATIENCE), self._error
        if isinstance(error, errors.StoreError):
            return str(error)
        return None if has_answered else f"the store has not answered for {PATIENCE:g} s"

    def subscribe(self, connection: Connection, number: object, after: int) -> None:
        """Push every operation after number `after` to the connection, as pushes that carry `number`, the id of its request."""
        with self._changed:
            self._subscribers.append(Subscriber(connection, number, after))
        if not connection.is_open:  # it was closed meanwhile
            self.forget(connection)
        self.notice()

    def forget(self, connection: Connection) -> None:
        """End the subscriptions of a connection."""
        with self._changed:
            self._subscribers = [each for each in self._subscribers if each.connection is not connection]

    def _run(self) -> None:
        """Push new operations whenever there is news, and once a second, until `stop`. Runs in the thread."""
        while not self._is_ending:
            with self._changed:
                if not self._has_news:
                    self._changed.wait(_LOOK)
                self._has_news = False
            self._try_to_look()
            if not self._is_ending:
                sleep(_APART)
        self._household.leave()

    def _try_to_look(self) -> None:
        """Look for new operations; call `lost` when the database was replaced: the server then ends the daemon.

        Log only the first of several errors in a row, and then the recovery: the store may be away for hours.
        """
        self._has_looked.clear()
        try:
            self._look()
        except Exception as error:  # noqa: BLE001 - the next look tries again
            self._household.forget(error)
            was, self._error = self._error, error
            if was is None:
                self._log("cannot read what changed", why=f"{type(error).__name__}: {error}")
            if isinstance(error, errors.StoreReplaced):
                self._lost(error)
        else:
            if self._error is not None:
                self._log("reads what changed again")
            self._error = None
        self._has_looked.set()

    def _look(self) -> None:
        """Look for operations that were committed since the last look.

        Pass the number of the newest one to the duties when it is new, and push to each subscriber the operations that
        it lacks.
        """
        fleet = self._household.open()
        latest: int = fleet.store.read(newest)
        if latest != self._seen:
            self._seen = latest
            self._tell(latest)
        for subscriber in list(self._subscribers):
            if subscriber.after < latest and not self._is_ending:
                fleet.store.read(lambda rows: self._serve(rows, subscriber))  # noqa: B023 - called at once

    def _serve(self, rows: Rows, subscriber: Subscriber) -> None:
        """Push to one subscriber the operations that it lacks, page by page, as long as it reads them.

        When some of them were rotated into the archive, push `gap` instead, with the newest number.
        """
        first = q.first_operation(rows).seq
        if subscriber.after + 1 < first:
            subscriber.after = newest(rows)
            self._send(subscriber.connection, {"id": subscriber.id, "push": "gap", "newest": subscriber.after})
            return
        while not subscriber.connection.is_behind and (
            page := q.operations_after(rows, after=subscriber.after, until=FOREVER, most=PAGE)
        ):
            changes = [wire.plain(operation_view(row)) for row in page]
            push = {"id": subscriber.id, "push": "changes", "after": subscriber.after, "operations": changes}
            subscriber.after = page[-1].seq
            self._send(subscriber.connection, push | {"newest": subscriber.after})
