"""Pid namespaces: a sandbox or container has its own, and in another namespace the same pid is another process.

Every process that uses a home (fleet commands and what they run, the tmux server, agents) holds a lock on the record of
its namespace there. The kernel keeps such locks across namespaces. So a restarted container can prove that no process
of its earlier namespace is left, and a process can see that another living namespace shares the home.
"""

from __future__ import annotations

import os
import sys

from fleet.world.files.locks import FileLock
from fleet.world.home import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.world.funnel import Funnel

_FIRST = "pid:[4026531836]"
# How many seconds a tmux server may take to accept a connection.
_PATIENCE = 1.0
_HIDDEN = ("hidepid=1", "hidepid=2", "hidepid=4", "hidepid=noaccess", "hidepid=invisible", "hidepid=ptraceable")


class PidNamespaces:
    """The pid namespaces that use one home, as seen from this process."""

    def __init__(self, home: str, boot: str, socket: str) -> None:
        self._folder = f"{home}/{paths.NAMESPACES}"
        self._boot = boot
        self._socket = socket
        # Held while this process uses the home; programs that inherit it go on holding it.
        self._lock = FileLock(f"{self._folder}/{boot}", home=home, shared=True)

    @property
    def lock_descriptor(self) -> int:
        """Return the descriptor of this namespace's lock, which started programs inherit; -1 when it is not held."""
        return self._lock.fd

    def enter(self) -> None:
        """Record that this namespace uses the home, and hold its lock.

        Do nothing in a home that cannot be written, and when the id of this namespace is not known.
        """
        if self.lock_descriptor < 0 and self._boot:
            try:
                self._lock.take(None)
            except OSError:
                return

    def duplicate_lock(self) -> int:
        """Return a copy of the lock's descriptor, for the program that this process execs; -1 if the lock is not held.

        The caller makes the copy inheritable.
        """
        return os.dup(self.lock_descriptor) if self.lock_descriptor >= 0 else -1

    def leave(self) -> None:
        """Stop holding the lock of this namespace. Other processes that hold it, such as started programs, keep it."""
        self._lock.give()

    def is_used(self, boot: str) -> bool:
        """Return whether a process of a pid namespace may be alive and use the home.

        `boot` is the id of the namespace, as `Host.boot` returns it.
        """
        return not FileLock(f"{self._folder}/{boot}").is_free()

    def is_gone(self, boot: str) -> bool:
        """Return whether it is proven that no process of another namespace is alive.

        `boot` is the id of that namespace, as `Host.boot` returns it.
        """
        return not self.is_used(boot) and is_gone(boot.partition(".")[2], self._socket)

    def sees_everyone(self) -> bool:
        """Return whether every process that may use this home is visible here.

        In the machine's first namespace: yes, unless /proc hides processes. In another one: only if every other namespace
        that has used this home is proven gone; the first one never is.
        """
        if not self._boot or not shows_everyone():
            return False
        if not self._boot.partition(".")[2]:
            return True
        others = [name for name in self._names() if name != self._boot]
        return all("." in name and self.is_gone(name) for name in others)

    def forget_gone(self, funnel: Funnel) -> None:
        """Remove the records of namespaces that are proven gone.

        Do nothing in any namespace but the machine's first, which alone sees every process, and where /proc hides some.
        """
        if self._boot and not self._boot.partition(".")[2] and shows_everyone():
            for name in self._names():
                if name != self._boot and self._is_over(name):
                    _remove_namespace_record(funnel, f"{self._folder}/{name}")

    def _is_over(self, name: str) -> bool:
        """Return whether the namespace with this record (`name`) is proven gone.

        One of an earlier boot is gone as soon as none of its processes uses the home. One of this boot may live on
        without using the home, so more proof is needed.
        """
        this_boot = name.partition(".")[0] == self._boot
        return self.is_gone(name) if this_boot else not self.is_used(name)

    def _names(self) -> list[str]:
        """Return the names of the records in the home, each the id of a namespace."""
        try:
            return sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return []


def _remove_namespace_record(funnel: Funnel, path: str) -> None:
    """Remove the record of a namespace, if it exists."""

    def act() -> None:
        try:
            os.unlink(path)
        except FileNotFoundError:
            return

    funnel.through("forget namespace", act)


def own() -> str | None:
    """Return the pid namespace of this process; empty for the machine's first one, and when the kernel does not say.

    None when /proc is missing or belongs to another namespace: then none of its pids can be trusted.
    """
    if not _is_own_view():
        return None
    found = _namespace_of("self")
    return "" if found == _FIRST else found


def shows_everyone() -> bool:
    """Return whether /proc belongs to this namespace and hides none of its processes from this user."""
    if not _is_own_view():
        return False
    try:
        with open("/proc/1/stat", "rb"), open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
            mounts = [line.split(" - ")[-1] for line in file if line.split(" ")[4] == "/proc"]
    except OSError:
        return False
    return os.geteuid() == 0 or not any(option in mounts[-1] for option in _HIDDEN if mounts)


def _is_own_view() -> bool:
    """Return whether /proc shows this process under its own pid."""
    try:
        return os.readlink("/proc/self") == str(os.getpid())
    except OSError:
        return False


def is_gone(namespace: str, socket: str) -> bool:
    """Return whether no process of another `namespace` ("": the machine's first) can be seen or reached from here.

    That is so when /proc shows none, and nobody listens on the home's tmux `socket` but a process of our own namespace.
    From inside a sandbox other processes cannot be seen, but their tmux server can be reached through its socket.
    """
    wanted = namespace or _FIRST
    if any(_namespace_of(name) == wanted for name in os.listdir("/proc") if name.isdigit()):
        return False
    listening = listener(socket)
    return listening is None or (listening > 0 and _namespace_of(str(listening)) == _namespace_of("self"))


def _namespace_of(pid: str) -> str:
    """Return the pid namespace of a process, given its pid or "self"; empty when it cannot be read."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def listener(path: str) -> int | None:
    """Return the pid that listens on a socket; 0 when it is unknown or not visible here, None when nobody listens."""
    import socket  # noqa: PLC0415 - only where there are other namespaces

    with socket.socket(socket.AF_UNIX) as asked:
        asked.settimeout(_PATIENCE)
        try:
            asked.connect(path)
            peer = asked.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)  # pid, user and group
            return int.from_bytes(peer[:4], sys.byteorder, signed=True)
        except (ConnectionRefusedError, FileNotFoundError):
            return None
        except OSError:
            return 0
