"""The daemon's log, for people. No database is opened: the log is wanted most when something is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.world.clock import Clock
from fleet.world.files import daemon_log
from fleet.world.home.location import home_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def newest(most: int) -> list[dict[str, object]]:
    """Return the newest entries of the log of this home's daemon, oldest first."""
    return daemon_log.newest(home_path(), most)


def follow(most: int, *, wanted: Callable[[], bool]) -> Iterator[dict[str, object]]:
    """Yield the newest entries since the last rotation, then each one as it is written, as long as somebody wants them."""
    for entry in daemon_log.follow(home_path(), Clock(), most=most):
        if entry is not None:
            yield entry
        elif not wanted():
            return
