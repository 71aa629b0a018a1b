"""Follow operations through the daemon, which pushes each one as soon as it is committed."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING

from fleet.api.remote.door import Door, DoorClosed
from fleet.model.results.home import OperationView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fleet.api.remote.wire import Json
    from fleet.api.views.changes import Changes

# Seconds between two checks whether the follower is still wanted.
_LOOK = 0.5


class PushedChanges:
    """Waits for the next operation through the daemon; while no daemon answers, through the source `otherwise`."""

    def __init__(self, home: str, otherwise: Changes) -> None:
        self._home = home
        self._otherwise = otherwise
        self._door: Door | None = None
        self._newest = -1

    def next_change(self, after_seq: int, timeout: float) -> int | None:
        """Return the number of the newest operation once it differs from `after_seq`; None after `timeout` seconds."""
        if self._newest > after_seq:
            return self._newest
        try:
            if self._door is None:
                self._subscribe(after_seq)
            elif not self._hear(timeout):
                return None
        except DoorClosed:
            self.close()
            return self._otherwise.next_change(after_seq, timeout)
        return self._newest if self._newest != after_seq else None

    def _subscribe(self, after: int) -> None:
        """Connect to the daemon and subscribe to operations after this number.

        Raise DoorClosed when no daemon answers.
        """
        door = Door.of(self._home)
        if door is None:
            raise DoorClosed
        self._door = door
        answer = door.call("subscribe", {"after": max(after, 0)})
        self._newest = int(answer.get("result", {}).get("newest", 0))

    def _hear(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds for the daemon to push the number of the newest operation, and keep it.

        Returns False when none came.
        """
        if self._door is None or not _is_ready(self._door, timeout):
            return False
        self._newest = int(self._door.receive().get("newest", self._newest))
        return True

    def close(self) -> None:
        """Close the connection to the daemon, and forget the number of the newest operation."""
        if self._door is not None:
            self._door.close()
        self._door, self._newest = None, -1


def _is_ready(door: Door, timeout: float) -> bool:
    """Whether something from the daemon can be read, now or within `timeout` seconds."""
    return door.has_more or bool(select.select([door.fileno()], [], [], timeout)[0])


def pushed_operations(home: str, after: int, wanted: Callable[[], bool]) -> Iterator[OperationView | int]:
    """Yield each operation after number `after` as the daemon pushes it.

    A bare number means that the operations up to it were rotated into the archive. Ends when `wanted()` is false or the
    daemon goes away.
    """
    door = Door.of(home)
    if door is None:
        return
    try:
        door.call("subscribe", {"after": after})
        while wanted():
            yield from _next_operations(door)
    except DoorClosed:
        return
    finally:
        door.close()


def _next_operations(door: Door) -> Iterator[OperationView | int]:
    """Yield the operations of the daemon's next push, or the number in a push `gap`. Yield nothing after a time-out."""
    if not _is_ready(door, _LOOK):
        return
    push: Json = door.receive()
    if push.get("push") == "gap":
        yield int(push.get("newest", 0))
    for operation in push.get("operations", ()):
        yield OperationView.from_json(operation)
