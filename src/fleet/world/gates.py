"""Gates: named exclusive locks that know who holds them.

Kernel locks on files that are never unlinked, through the filelock library: freed by the kernel when the holder dies, held
by no child, exclusive among the threads of one process too. After locking, path and descriptor must be the same inode, else
the file was replaced under us and we try again. The text in the file is for people: it is emptied before release and
decides nothing.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from fleet.errors import GateHeld, WriteFailed
from fleet.model.identity import Identity
from fleet.model.times import iso
from fleet.world import ps

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from fleet.world.clock import Clock
    from fleet.world.host import Host

_MODE = 0o600
_HOLDER_BYTES = 2_000
_REPLACED_OFTEN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds a gate, as its file says. A gate of a piece of work also says which, and who exactly: host id, boot, start."""

    pid: int
    host: str
    since: str
    id: str = ""
    host_id: str = ""
    boot: str = ""
    start: str = ""

    def __str__(self) -> str:
        """For people."""
        return f"pid={self.pid} on {self.host}, since {self.since}"

    @property
    def who(self) -> Identity:
        """The process, for all time."""
        return Identity(host=self.host_id, boot=self.boot, pid=self.pid, start=self.start)


class Gate:
    """One gate. Not re-entrant: a second object on the same path is a contender like any other."""

    def __init__(self, path: str, *, clock: Clock, host: Host, subject: str = "", who: Identity | None = None) -> None:
        self.path = path
        self._clock = clock
        self._host = host
        self._subject = subject
        self._who = who
        self._lock: FileLock | None = None

    def take(self, *, wait: float = 0) -> None:
        """Hold the gate, or GateHeld after so many seconds."""
        if self._lock is not None:
            raise GateHeld(gate=os.path.basename(self.path), holder=self.holder() or "this process")
        for _ in range(_REPLACED_OFTEN):
            if self._taken(wait):
                return
        raise GateHeld(gate=os.path.basename(self.path), holder="someone who keeps replacing its file")

    def give(self) -> None:
        """Let go. Safe when it is not held."""
        if self._lock is None:
            return
        lock, self._lock = self._lock, None
        descriptor = lock._context.lock_file_fd  # noqa: SLF001 - the one way to the descriptor that is locked
        if descriptor is not None:
            os.ftruncate(descriptor, 0)
        lock.release()

    def holder(self) -> Holder | None:
        """Who holds it, as far as the file says."""
        try:
            with open(self.path, "rb") as file:
                return Holder(**json.loads(file.read(_HOLDER_BYTES)))
        except (OSError, ValueError, TypeError):
            return None

    def is_open_in(self, pid: int) -> bool | None:
        """Whether a process has the gate's file open; None where the system does not say."""
        found = ps.holders(self.path)
        return None if found is None else pid in found

    def __enter__(self) -> Self:
        """Take it without waiting."""
        self.take()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        """Let go."""
        self.give()

    def _taken(self, wait: float) -> bool:
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        except OSError as error:
            raise WriteFailed(path=self.path, why=str(error.strerror or error).lower()) from error
        lock = FileLock(
            self.path,
            mode=_MODE,
            thread_local=False,
            fallback_to_soft=False,
            preserve_lock_file=True,
            on_acquired=self._write_holder,
        )
        try:
            lock.acquire(timeout=wait, poll_interval=0.01)
        except Timeout:
            raise GateHeld(gate=os.path.basename(self.path), holder=self.holder() or "an unknown process") from None
        except OSError as error:
            raise WriteFailed(path=self.path, why=str(error.strerror or error).lower()) from error
        if not _same_file(self.path, lock):
            lock.release()
            return False
        self._lock = lock
        return True

    def _write_holder(self, descriptor: int) -> None:
        told = (
            {} if self._who is None else {"host_id": self._who.host, "boot": self._who.boot, "start": self._who.start}
        )
        since = iso(self._clock.now())
        holder = Holder(pid=os.getpid(), host=self._host.name, since=since, id=self._subject, **told)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(asdict(holder)).encode(), 0)


def _same_file(path: str, lock: FileLock) -> bool:
    descriptor = lock._context.lock_file_fd  # noqa: SLF001
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return False
    ours = os.fstat(descriptor) if descriptor is not None else None
    return ours is not None and (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)
