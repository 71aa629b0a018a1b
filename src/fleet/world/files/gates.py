"""Gates: named exclusive locks whose files say who holds them.

A gate is a kernel lock on a file that is never unlinked. The kernel frees it when its holder dies; child processes do
not hold it; it also excludes other threads of the same process. The text in the file does not decide whether the gate
is held: it tells people by whom, and is emptied before release. For the gate of a piece of work it also names the exact
process, which the caller may compare with the living processes.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.identity import Identity
from fleet.model.text.times import iso
from fleet.records import record
from fleet.world.files.locks import FileLock
from fleet.world.process import ps

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from fleet.world.clock import Clock
    from fleet.world.host import Host

# How often to try again to lock a gate that is held, in seconds, unless the caller says otherwise.
_LOOK_AGAIN = 0.01
_HOLDER_BYTES = 2_000


@record(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds a gate, according to its file.

    `id` is what the gate is held for, '' when its file does not say. The file of the gate of a piece of work also names
    the exact process (host id, boot, start); for other gates these are ''.
    """

    pid: int
    host: str
    since: str
    id: str = ""
    host_id: str = ""
    boot: str = ""
    start: str = ""

    def __str__(self) -> str:
        """Return the holder's process, host and time, for people."""
        return f"pid={self.pid} on {self.host}, since {self.since}"

    @property
    def who(self) -> Identity:
        """Return the identity of the holder's process; complete only for the gate of a piece of work."""
        return Identity(host=self.host_id, boot=self.boot, pid=self.pid, start=self.start)


class Gate:
    """One gate: a named exclusive lock.

    While it is locked, no other object on the same path can lock it, not even in this process. Its file names its
    holder: this process, or the process `who` if given; `subject` says what the gate is held for.
    """

    def __init__(
        self, path: str, *, clock: Clock, host: Host, home: str = "", subject: str = "", who: Identity | None = None
    ) -> None:
        self.path = path
        self._clock = clock
        self._host = host
        self._subject = subject
        self._who = who
        self._lock = FileLock(path, home=home)

    def take(self, *, wait: float = 0, every: float = _LOOK_AGAIN) -> None:
        """Lock the gate; raise GateHeld when somebody still holds it after `wait` seconds.

        While it is held, try again every `every` seconds. Raise GateHeld at once when this object has locked it
        already, WriteFailed when its file cannot be locked or written.
        """
        if self._lock.fd >= 0:
            raise self._held_by("this process")
        deadline = self._clock.ticks() + wait
        while not self._try_lock():
            if self._clock.ticks() >= deadline:
                raise self._held_by("an unknown process")
            self._clock.wait(every)

    def give(self) -> None:
        """Unlock the gate; do nothing when this object has not locked it."""
        if self._lock.fd >= 0:
            _held_gates.discard(self)
            with contextlib.suppress(OSError):  # if the disk fails, the file goes on naming the former holder
                os.ftruncate(self._lock.fd, 0)
            self._lock.give()

    def is_free(self) -> bool:
        """Return whether nobody holds the gate now; False when its file cannot be opened."""
        return self._lock.is_free()

    def holder(self) -> Holder | None:
        """Return who holds the gate, according to its file; None when the file does not say.

        The file goes on naming a holder that was killed, until somebody else locks the gate.
        """
        try:
            with open(self.path, "rb") as file:
                return Holder(**json.loads(file.read(_HOLDER_BYTES)))
        except (OSError, ValueError, TypeError):
            return None

    def is_open_in(self, pid: int) -> bool | None:
        """Return whether a process has the gate's file open; None where the system cannot tell."""
        pids = ps.holders(self.path)
        return None if pids is None else pid in pids

    def __enter__(self) -> Self:
        """Lock the gate without waiting; raise as `take` does."""
        self.take()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        """Unlock the gate."""
        self.give()

    def _try_lock(self) -> bool:
        """Lock the gate, write its holder into the file and return True; False when somebody else holds the gate.

        Raise WriteFailed when the file cannot be locked or written.
        """
        try:
            fd = self._lock.take(0)
        except BlockingIOError:
            return False
        except OSError as error:
            raise self._failed(error) from error
        try:
            self._write_holder(fd)
        except OSError as error:
            self._lock.give()
            raise self._failed(error) from error
        except BaseException:
            self._lock.give()
            raise
        _held_gates.add(self)
        return True

    def _held_by(self, otherwise: str) -> errors.GateHeld:
        """Return the error that somebody holds the gate; `otherwise` describes the holder when the gate's file does not."""
        return errors.GateHeld(gate=os.path.basename(self.path), holder=self.holder() or otherwise)

    def _failed(self, error: OSError) -> errors.WriteFailed:
        return errors.WriteFailed(path=self.path, why=str(error.strerror or error).lower())

    def forget(self) -> None:
        """Close the gate's file in a forked child, so that only the parent goes on holding the gate."""
        with contextlib.suppress(OSError):
            self._lock.give()

    def _write_holder(self, descriptor: int) -> None:
        """Write this process, or the process `who`, into the gate's file as its holder."""
        who = self._who
        holder = {"pid": os.getpid(), "host": self._host.name, "since": iso(self._clock.now()), "id": self._subject}
        if who is not None:
            holder |= {"pid": who.pid, "host_id": who.host, "boot": who.boot, "start": who.start}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(holder).encode(), 0)


_held_gates: set[Gate] = set()


def _forget_all() -> None:
    """Close the files of all held gates in a forked child."""
    while _held_gates:
        _held_gates.pop().forget()


os.register_at_fork(after_in_child=_forget_all)
