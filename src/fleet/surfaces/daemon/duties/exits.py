"""Be told by the kernel when processes exit, without polling, where the kernel can do that (Linux)."""

from __future__ import annotations

import os
import select
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fleet.model.identity import Identity
    from fleet.world.process.processes import Processes


class Exits:
    """A thread that sleeps in the kernel until a watched process exits, and then calls `tell`."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._watched: dict[Identity, int] = {}
        self._poll = select.poll()
        self._thread: threading.Thread | None = None
        self._wake_read_end, self._wake_write_end = -1, -1

    def watch(self, processes: Processes, whom: Iterable[Identity]) -> bool:
        """Watch these processes and no others. Returns whether the kernel will report the exit of every one of them."""
        wanted = list(whom)
        with self._lock:
            for who in [each for each in self._watched if each not in wanted]:
                self._forget(who)
            for who in (each for each in wanted if each not in self._watched):
                descriptor = processes.exit_descriptor(who)
                if descriptor is not None:
                    self._watched[who] = descriptor
                    self._poll.register(descriptor, select.POLLIN)
            every = len(self._watched) == len(wanted)
            if self._watched:
                self._begin()
        return every

    def end(self) -> None:
        """End the thread and close all descriptors."""
        thread, self._thread = self._thread, None
        if thread is not None:
            os.write(self._wake_write_end, b"e")
            thread.join()
            os.close(self._wake_read_end)
            os.close(self._wake_write_end)
        with self._lock:
            for who in list(self._watched):
                self._forget(who)

    def _forget(self, who: Identity) -> None:
        """Stop watching a process and close its descriptor. The caller holds the lock."""
        descriptor = self._watched.pop(who)
        self._poll.unregister(descriptor)
        os.close(descriptor)

    def _begin(self) -> None:
        """Start the thread, or wake it so that it watches the new set of processes."""
        if self._thread is not None:
            os.write(self._wake_write_end, b"c")
            return
        self._wake_read_end, self._wake_write_end = os.pipe()
        self._poll.register(self._wake_read_end, select.POLLIN)
        self._thread = threading.Thread(target=self._wait, name="exits", daemon=True)
        self._thread.start()

    def _wait(self) -> None:
        """Wait for exits, stop watching the processes that have exited, and call `tell`. Runs in the thread until `end`."""
        while True:
            ready = [descriptor for descriptor, _event in self._poll.poll()]
            if self._wake_read_end in ready and b"e" in os.read(self._wake_read_end, 4096):
                return
            with self._lock:
                gone = [who for who, descriptor in self._watched.items() if descriptor in ready]
                for who in gone:
                    self._forget(who)
            if gone:
                self._tell()
