"""Write a few bytes to a terminal that a person looks at, without ever waiting long."""

from __future__ import annotations

import contextlib
import os
import select
import stat
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleet.world.funnel import Funnel

# How many seconds a write may take.
_LIMIT = 1.0
_DEVICES = "/dev/"


def write(funnel: Funnel, device: str, content: bytes) -> str:
    """Write to a terminal of this user. Return why it failed; empty when it worked.

    `device` is its path. A terminal that has not accepted everything within a second (it is stopped, or its window
    hangs) is given up.
    """
    return funnel.through("ring terminal", lambda: _write_terminal(device, content))


def _write_terminal(device: str, content: bytes) -> str:
    """Open a terminal and write to it; return why that failed, empty when it worked."""
    try:
        handle = os.open(device, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        return str(error.strerror).lower()
    try:
        return _why_no_terminal(handle, device) or _write_all(handle, content)
    except OSError as error:
        return str(error.strerror).lower()
    finally:
        os.close(handle)


def _why_no_terminal(handle: int, device: str) -> str:
    """Return why an open device is not a terminal of this user; empty when it is."""
    found = os.fstat(handle)
    if not (device.startswith(_DEVICES) and stat.S_ISCHR(found.st_mode) and os.isatty(handle)):
        return "it is not a terminal"
    return "" if found.st_uid == os.getuid() else "it belongs to another user"


def _write_all(handle: int, content: bytes) -> str:
    """Write all bytes to an open terminal within the time limit. Return why it failed; empty when it worked."""
    until, room = monotonic() + _LIMIT, select.poll()
    room.register(handle, select.POLLOUT)
    while content:
        room.poll(max(until - monotonic(), 0) * 1000)
        with contextlib.suppress(BlockingIOError):
            content = content[os.write(handle, content) :]
        if content and monotonic() >= until:
            return f"it took nothing within {_LIMIT:g} s"
    return ""
