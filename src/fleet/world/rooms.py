"""Rooms: the pid namespaces of a machine. A sandbox or a container has its own, and in another one a pid means somebody else, or nobody."""

from __future__ import annotations

import os
import struct

_FIRST = "pid:[4026531836]"
_PATIENCE = 1.0


def own() -> str:
    """The room that this process is in; empty for the machine's first one, and where there is no such thing."""
    found = _room("self")
    return "" if found == _FIRST else found


def is_gone(room: str, socket: str) -> bool:
    """Whether nobody of another room of this boot can be alive.

    Nobody is seen who is in it; and whoever listens on the home's socket, if anybody, is one of ours. From within a sandbox the
    others cannot be seen, but their server can be reached.
    """
    wanted = room or _FIRST
    if any(_room(name) == wanted for name in os.listdir("/proc") if name.isdigit()):
        return False
    listener = _listener(socket)
    return listener is None or (listener > 0 and _room(str(listener)) == _room("self"))


def _room(pid: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def _listener(path: str) -> int | None:
    """The process that listens on a socket, as seen from here: 0 when it cannot be seen, None when there is none."""
    import socket  # noqa: PLC0415 - only where there are other rooms

    with socket.socket(socket.AF_UNIX) as asked:
        asked.settimeout(_PATIENCE)
        try:
            asked.connect(path)
            return int(struct.unpack("3i", asked.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0])
        except (ConnectionRefusedError, FileNotFoundError):
            return None
        except OSError:
            return 0
