"""Follow operations through the daemon, which pushes each one as soon as it is committed."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.remote.door import Door, DoorClosed
from fleet.model.results.home import OperationView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fleet.api.remote.wire import Json
    from fleet.api.views.changes import Changes

# Seconds between two checks whether the follower is still wanted.
_LOOK = 0.5
# Seconds without a push after which the follower looks into the store. A daemon pushes within two seconds.
_SILENT = 3.0
# Seconds within which a daemon subscribes a follower, and sends the rest of a line. A suspended one does not.
_ANSWER = 5.0
# Seconds within which a daemon that did not answer before has to greet. The follower polls the store otherwise.
_GREETING_AGAIN = 0.5


class Silence:
    """Judges whether a daemon that pushes nothing is suspended (by SIGSTOP, for example), or whether nothing happens.

    It is suspended when operations were committed seconds ago and it has not pushed them.

    `newest` reads the number of the newest operation from the store.
    """

    def __init__(self, newest: Callable[[], int]) -> None:
        self._newest = newest
        self._waited = 0.0
        self._due = -1

    def end(self) -> None:
        """Begin to count anew, because the daemon has pushed something."""
        self._waited, self._due = 0.0, -1

    def is_too_long(self, waited: float, after: int) -> bool:
        """Add `waited` seconds to the silence, and return whether the daemon counts as suspended.

        It does when it has pushed nothing for a while, and an operation that was in the store a while ago has a greater
        number than `after`, the last one that it pushed. A home in which nothing happens is merely quiet.
        """
        self._waited += waited
        if self._waited < _SILENT:
            return False
        is_overdue = self._due > after
        self._waited, self._due = 0.0, self._newest()
        return is_overdue


class PushedChanges:
    """Waits until the daemon pushes the next operation; while no daemon answers, `otherwise` waits for it in its place.

    `newest` reads the number of the newest operation from the store.
    """

    def __init__(self, home: str, otherwise: Changes, newest: Callable[[], int]) -> None:
        self._home = home
        self._otherwise = otherwise
        self._silence = Silence(newest)
        self._door: Door | None = None
        self._newest = -1
        self._patience: float | None = None

    def next_change(self, after_seq: int, timeout: float, *, wanted: Callable[[], bool] = lambda: True) -> int | None:
        """Return the number of the newest operation once it differs from `after_seq`.

        Returns None after `timeout` seconds, or as soon as `wanted()` is false; at once after a new connection, when the
        number does not differ.
        """
        if self._newest > after_seq:
            return self._newest
        try:
            if self._door is None:
                self._subscribe(after_seq)
            elif not self._hear(timeout, wanted):
                return None
        except (DoorClosed, errors.Draining):
            self.close()
            self._patience = _GREETING_AGAIN
            return self._otherwise.next_change(after_seq, timeout, wanted=wanted)
        return self._newest if self._newest != after_seq else None

    def _subscribe(self, after: int) -> None:
        """Connect to the daemon and subscribe to operations after this number.

        Raise DoorClosed when no daemon answers.
        """
        self._door = _connected(self._home, self._patience)
        answer = self._door.call("subscribe", {"after": max(after, 0)}, patience=_ANSWER)
        self._newest = int(answer.get("result", {}).get("newest", 0))
        self._patience = None

    def _hear(self, timeout: float, wanted: Callable[[], bool]) -> bool:
        """Wait at most `timeout` seconds for the daemon to push the number of the newest operation, and keep it.

        Returns False when none came, or it is not wanted any more. Raise DoorClosed when the daemon is suspended.
        """
        left = timeout
        while self._door is not None:
            wait = min(left, _LOOK)
            if _is_ready(self._door, wait):
                self._newest = int(self._door.receive(patience=_ANSWER).get("newest", self._newest))
                self._silence.end()
                return True
            left -= wait
            if self._silence.is_too_long(wait, self._newest):
                raise DoorClosed
            if left <= 0 or not wanted():
                break
        return False

    def close(self) -> None:
        """Close the connection to the daemon, and forget the number of the newest operation."""
        if self._door is not None:
            self._door.close()
        self._door, self._newest = None, -1
        self._silence.end()


def _connected(home: str, patience: float | None) -> Door:
    """Return a connection to the daemon of a home. Raise DoorClosed when none answers.

    `patience` is in seconds; None stands for 5.
    """
    door = Door.of(home, patience=patience)
    if door is None:
        raise DoorClosed
    return door


def _is_ready(door: Door, timeout: float) -> bool:
    """Whether something from the daemon can be read, now or within `timeout` seconds."""
    return door.has_more or bool(select.select([door.fileno()], [], [], timeout)[0])


class PushedOperations:
    """Follows the operations of a home, which its daemon pushes, as long as `wanted()` is true and the daemon answers.

    `newest` reads the number of the newest operation from the store.
    """

    def __init__(self, home: str, wanted: Callable[[], bool], newest: Callable[[], int]) -> None:
        self._home = home
        self._wanted = wanted
        self._silence = Silence(newest)
        self._patience: float | None = None

    def after(self, number: int) -> Iterator[OperationView | int]:
        """Yield each operation after a number as the daemon pushes it.

        A bare number means that the operations up to it were rotated into the archive. Ends when `wanted()` is false, when
        the daemon closes the connection or does not answer, or when it is suspended.
        """
        self._silence.end()
        door = None
        try:
            door = _connected(self._home, self._patience)
            door.call("subscribe", {"after": number}, patience=_ANSWER)
            while self._wanted():
                for told in _next_operations(door):
                    number = told if isinstance(told, int) else told.seq
                    self._silence.end()
                    yield told
                if self._silence.is_too_long(_LOOK, number):
                    break
        except (DoorClosed, errors.Draining):
            pass
        finally:
            self._patience = _GREETING_AGAIN
            if door is not None:
                door.close()


def _next_operations(door: Door) -> Iterator[OperationView | int]:
    """Yield the operations of the daemon's next push; nothing when none comes within half a second.

    For a push `gap`, yield the number up to which operations were rotated into the archive.
    """
    if not _is_ready(door, _LOOK):
        return
    push: Json = door.receive(patience=_ANSWER)
    if push.get("push") == "gap":
        yield int(push.get("newest", 0))
    for operation in push.get("operations", ()):
        yield OperationView.from_json(operation)
