"""Terminals that somebody looks at: write a few bytes into one, and never wait for it."""

from __future__ import annotations

import contextlib
import os
import select
import stat
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleet.world.funnel import Funnel

_LIMIT = 1.0
_DEVICES = "/dev/"


def write(funnel: Funnel, device: str, content: bytes) -> str:
    """Write into a terminal of this user. Returns the reason when it did not work, else an empty text.

    A terminal that takes nothing (stopped, or its window hangs) is given up after a second.
    """
    return funnel.through("ring terminal", lambda: _write_terminal(device, content))


def _write_terminal(device: str, content: bytes) -> str:
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
    """Return why this is no terminal to write to; empty when it is one of this user's."""
    found = os.fstat(handle)
    if not (device.startswith(_DEVICES) and stat.S_ISCHR(found.st_mode) and os.isatty(handle)):
        return "it is not a terminal"
    return "" if found.st_uid == os.getuid() else "it belongs to another user"


def _write_all(handle: int, content: bytes) -> str:
    """Write all bytes into a terminal within the time limit. Returns why that did not work; empty when it did."""
    until, room = monotonic() + _LIMIT, select.poll()
    room.register(handle, select.POLLOUT)
    while content:
        room.poll(max(until - monotonic(), 0) * 1000)
        with contextlib.suppress(BlockingIOError):
            content = content[os.write(handle, content) :]
        if content and monotonic() >= until:
            return f"it took nothing within {_LIMIT:g} s"
    return ""
