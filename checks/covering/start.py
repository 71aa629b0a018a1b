"""Begin to measure in a process that is just starting. A .pth file of the virtual environment runs this during `make coverage`.

It depends on no variable, because an agent gets those alone that its engine names. fleet ends by `os._exit` and becomes an agent
by `os.execve`: what was measured is saved before either. An agent in a sandbox sees the virtual environment, where this file is
copied to, and cannot write to it: it sends what was measured to a socket there.
"""

from __future__ import annotations

import atexit
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import coverage

if TYPE_CHECKING:
    from collections.abc import Callable

_FOLDER = Path(sys.prefix) / "covering"
_CONFIG = _FOLDER / "config"
_SOCKET = _FOLDER / "socket"
_VARIABLE = "COVERAGE_PROCESS_START"


class Measuring:
    """What this process has measured, and how to save it."""

    def __init__(self) -> None:
        self._is_sent = not os.access(_FOLDER, os.W_OK)
        self.started = _start_in_memory() if self._is_sent else _start()
        if self._is_sent:
            atexit.register(self.save)

    def save(self) -> None:
        """Save what was measured, once: write it to the folder, or send it to the socket."""
        measured, self.started = self.started, None
        if measured is None:
            return
        measured.stop()
        if self._is_sent:
            _send(measured.get_data().dumps())
        else:
            measured.save()


def _start() -> coverage.Coverage | None:
    """Start as coverage would by its variable, which no child and no test sees."""
    os.environ[_VARIABLE] = str(_CONFIG)
    try:
        return coverage.process_startup()
    finally:
        del os.environ[_VARIABLE]


def _start_in_memory() -> coverage.Coverage:
    measured = coverage.Coverage(config_file=str(_CONFIG), data_file=None)
    measured.start()
    return measured


def _send(data: bytes) -> None:
    """Send data to the run that measures; after its end nobody wants it."""
    try:
        with socket.socket(socket.AF_UNIX) as run:
            run.connect(str(_SOCKET))
            run.sendall(data)
    except OSError:
        return


def _save_before(name: str, measuring: Measuring) -> None:
    """Let a function of `os` that never returns save first what was measured."""
    leave: Callable[..., object] = getattr(os, name)

    def save_and_leave(*arguments: object) -> object:
        measuring.save()
        return leave(*arguments)

    setattr(os, name, save_and_leave)


# Python reads a .pth file twice where two names lead to its folder.
if _CONFIG.exists() and coverage.Coverage.current() is None:
    measuring = Measuring()
    if measuring.started:
        for function in ("_exit", "execv", "execve"):
            _save_before(function, measuring)
