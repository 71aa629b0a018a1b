"""Rooms: the pid namespaces of a machine. A sandbox or a container has its own, and in another one a pid means somebody else, or nobody.

Whoever uses a home writes its room down there, and holds a lock on that file as long as it lives: every fleet, what it runs, its
tmux server, its agents. The kernel keeps the lock across namespaces. So a container that was restarted can prove that nobody of the
room before it is left; and one that shares the home with a living room sees that it does.
"""

from __future__ import annotations

import contextlib
import os
import struct
from functools import partial

from fleet.world.files.locks import FileLock
from fleet.world.home import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.world.funnel import Funnel

_FIRST = "pid:[4026531836]"
_PATIENCE = 1.0
_HIDDEN = ("hidepid=1", "hidepid=2", "hidepid=4", "hidepid=noaccess", "hidepid=invisible", "hidepid=ptraceable")


class Rooms:
    """The rooms that use one home, as seen from this one."""

    def __init__(self, home: str, boot: str, socket: str) -> None:
        self._folder = f"{home}/{paths.ROOMS}"
        self._boot = boot
        self._socket = socket
        # Held as long as this process uses the home; whoever inherits it goes on holding it.
        self._lock = FileLock(f"{self._folder}/{boot}", shared=True)

    @property
    def lease(self) -> int:
        """The descriptor of the lock, for programs that are to inherit it; -1 when it is not held."""
        return self._lock.fd

    def enter(self) -> None:
        """Write down that this room uses the home, and hold its lock. Without a home that can be written to it is not held."""
        if self.lease < 0 and self._boot:
            with contextlib.suppress(OSError):
                self._lock.take(None)

    def handed_on(self) -> int:
        """The same lock for a program that this process is to become; -1 when it is not held."""
        return os.dup(self.lease) if self.lease >= 0 else -1

    def leave(self) -> None:
        """Let go of the lock."""
        self._lock.give()

    def is_used(self, boot: str) -> bool:
        """Whether somebody who entered from a room still lives, or may."""
        return not FileLock(f"{self._folder}/{boot}").is_free()

    def is_gone(self, boot: str) -> bool:
        """Whether nobody of another room, of this boot or another, can be alive."""
        return not self.is_used(boot) and is_gone(boot.partition(".")[2], self._socket)

    def sees_everyone(self) -> bool:
        """Whether all processes that may work with this home's things can be seen from here.

        In the machine's first room: all, if /proc hides none. In another one: if every other room that has used this home is
        proven gone. The first one never is.
        """
        if not self._boot or not shows_everyone():
            return False
        if not self._boot.partition(".")[2]:
            return True
        others = [name for name in self._names() if name != self._boot]
        return all("." in name and self.is_gone(name) for name in others)

    def forget_gone(self, funnel: Funnel) -> None:
        """Remove what is written down of rooms that are gone; from the first room, in which everybody is seen."""
        if self._boot and not self._boot.partition(".")[2] and shows_everyone():
            for name in self._names():
                if name != self._boot and self._is_over(name):
                    funnel.through("forget room", partial(_unlink, f"{self._folder}/{name}"))

    def _is_over(self, name: str) -> bool:
        """A room of this boot may be there while nobody in it uses the home; one of another boot is not."""
        this_boot = name.partition(".")[0] == self._boot
        return self.is_gone(name) if this_boot else not self.is_used(name)

    def _names(self) -> list[str]:
        try:
            return sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return []


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def own() -> str | None:
    """The room that this process is in; empty for the machine's first one, and where there is no such thing.

    None when /proc is that of another room: then no pid in it can be believed.
    """
    if not _is_own_view():
        return None
    found = _room("self")
    return "" if found == _FIRST else found


def shows_everyone() -> bool:
    """Whether /proc is of this room and hides no process of it."""
    if not _is_own_view():
        return False
    try:
        with open("/proc/1/stat", "rb"), open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
            mounts = [line.split(" - ")[-1] for line in file if line.split(" ")[4] == "/proc"]
    except OSError:
        return False
    return os.geteuid() == 0 or not any(option in mounts[-1] for option in _HIDDEN if mounts)


def _is_own_view() -> bool:
    """Whether /proc calls this process what it calls itself."""
    try:
        return os.readlink("/proc/self") == str(os.getpid())
    except OSError:
        return False


def is_gone(room: str, socket: str) -> bool:
    """Whether nobody of another room of this boot is seen, and whoever listens on the home's socket, if anybody, is one of ours.

    From within a sandbox the others cannot be seen, but their server can be reached.
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
