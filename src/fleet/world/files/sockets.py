"""Unix sockets that the daemon listens on.

The socket's file is private, and a foreign file in its place is never removed. The kernel limits the length of a
socket's address. For a longer path, the address on Linux goes through the descriptor of its folder.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fleet import errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.world.funnel import Funnel

# The shortest limit of all systems: 104 bytes on macOS, with the closing zero.
LONGEST_ADDRESS = 103
_BACKLOG = 4096
_PRIVATE = 0o600


class Listener:
    """A Unix socket that listens at a path."""

    def __init__(self, path: str, funnel: Funnel) -> None:
        self.path = path
        self._funnel = funnel
        # None while it does not listen.
        self.socket: socket.socket | None = None
        # Device and inode of the socket's file; (-1, -1) before it was made.
        self._file = (-1, -1)

    def open(self) -> socket.socket:
        """Start to listen and return the socket.

        A socket of this user at the path is replaced: the caller holds the daemon's gate, so the daemon that made it is
        dead. Raise PathTaken when anything else is there.
        """
        _refuse_foreign(self.path)
        self.socket = self._funnel.through(f"listen {os.path.basename(self.path)}", lambda: _listening(self.path))
        self._file = _device_and_inode(self.path)
        return self.socket

    @property
    def is_in_place(self) -> bool:
        """Return whether the path still leads to this socket."""
        return self.socket is not None and _device_and_inode(self.path) == self._file

    def close(self) -> None:
        """Stop listening, and remove the socket's file unless another one has replaced it."""
        if self.socket is None:
            return
        self.socket.close()
        if self.is_in_place:
            self._funnel.through(f"remove {os.path.basename(self.path)}", lambda: os.unlink(self.path))
        self.socket = None


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """Return the user id and pid at the other end of a connection, from the kernel; pid 0 where the kernel does not know it."""
    if hasattr(socket, "SO_PEERCRED"):
        size = struct.calcsize("3i")
        pid, uid, _gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        return uid, pid
    # macOS: struct xucred, from SOL_LOCAL; the process from LOCAL_PEERPID.
    told = connection.getsockopt(0, 1, 76)
    return struct.unpack_from("2I", told)[1], struct.unpack("i", connection.getsockopt(0, 2, 4))[0]


def is_foreign(path: str) -> bool:
    """Return whether anything but a socket of this user is at the path; False when nothing is there."""
    try:
        there = os.lstat(path)
    except FileNotFoundError:
        return False
    return not stat.S_ISSOCK(there.st_mode) or there.st_uid != os.geteuid()


def _refuse_foreign(path: str) -> None:
    """Raise PathTaken when anything but a socket of this user is at the path."""
    if is_foreign(path):
        raise errors.PathTaken(path=path)


def _listening(path: str) -> socket.socket:
    """Return a listening socket at the path, replacing a file there, and create missing folders above it.

    The socket's file is created under another name, made private, then renamed.
    """
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    unfinished = f"{path}.new"
    if os.path.lexists(unfinished):
        _refuse_foreign(unfinished)
        os.unlink(unfinished)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with address_of(unfinished) as address:
            listener.bind(address)
        os.chmod(unfinished, _PRIVATE)
        listener.listen(_BACKLOG)
        listener.settimeout(0)
        os.rename(unfinished, path)
    except BaseException:
        listener.close()
        raise
    return listener


@contextmanager
def address_of(path: str) -> Iterator[str]:
    """Yield an address of the socket at this path that is short enough for the kernel. It is valid only in the `with` block.

    For a long path on a system without /proc, the working directory of the block is the folder of the socket.
    """
    if len(os.fsencode(path)) <= LONGEST_ADDRESS:
        yield path
        return
    folder, name = os.path.split(path)
    if os.path.isdir("/proc/self/fd"):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield f"/proc/self/fd/{fd}/{name}"
        finally:
            os.close(fd)
        return
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield name
    finally:
        os.chdir(before)


def _device_and_inode(path: str) -> tuple[int, int]:
    """Return the device and the inode of the file at a path; (-1, -1) when there is none, or it cannot be looked at."""
    try:
        there = os.lstat(path)
    except OSError:
        return -1, -1
    return there.st_dev, there.st_ino
