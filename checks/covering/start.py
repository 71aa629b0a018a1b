"""Start to measure coverage in a Python process that begins. A .pth file of the environment runs this during `make
coverage`.

It depends on no environment variable, because an agent gets only those that its engine names. fleet ends by `os._exit`
and becomes an agent by `os.execve`: the measurements are saved before either. An agent in a sandbox sees the virtual
environment, to which this file is copied, but cannot write to it: it sends its measurements to a socket there.
"""

from __future__ import annotations

import atexit
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import coverage

_FOLDER = Path(sys.prefix) / "covering"
_CONFIG = _FOLDER / "config"
_SOCKET = _FOLDER / "socket"
_VARIABLE = "COVERAGE_PROCESS_START"


class Measuring:
    """The measurements of this process, and how to save them."""

    def __init__(self) -> None:
        self._is_sent = not os.access(_FOLDER, os.W_OK)
        self.started = _start_in_memory() if self._is_sent else _start()
        if self._is_sent:
            atexit.register(self.save)

    def save(self) -> None:
        """Save the measurements, once: write them to the folder, or send them to the socket."""
        measured, self.started = self.started, None
        if measured is None:
            return
        measured.stop()
        if self._is_sent:
            _send(measured.get_data().dumps())
        else:
            measured.save()


def _start() -> coverage.Coverage | None:
    """Start coverage as its environment variable would, and return it; None when it measures this process already.

    The variable is unset again, so that no child or test sees it.
    """
    from coverage import process_startup  # noqa: PLC0415 - _measure says why

    os.environ[_VARIABLE] = str(_CONFIG)
    try:
        return process_startup()
    finally:
        del os.environ[_VARIABLE]


def _start_in_memory() -> coverage.Coverage:
    """Start coverage without a file, for a process that cannot write to the folder, and return it."""
    from coverage import Coverage  # noqa: PLC0415 - _measure says why

    measured = Coverage(config_file=str(_CONFIG), data_file=None)
    measured.start()
    return measured


def _send(data: bytes) -> None:
    """Send data to the run that measures; do nothing when it has ended."""
    try:
        with socket.socket(socket.AF_UNIX) as run:
            run.connect(str(_SOCKET))
            run.sendall(data)
    except OSError:
        return


def _save_before(name: str, measuring: Measuring) -> None:
    """Replace a function of `os` that never returns by one that first saves the measurements.

    The new function calls the old one even when they cannot be saved: a child that a test forked must not go on as the
    test.
    """
    leave: Callable[..., object] = getattr(os, name)

    def save_and_leave(*arguments: object) -> object:
        with suppress(Exception):
            measuring.save()
        return leave(*arguments)

    setattr(os, name, save_and_leave)


def _measure() -> None:
    """Measure this process, unless nobody asks for it or it is being measured already.

    Python reads a .pth file twice where two names lead to its folder.
    """
    try:
        from coverage import Coverage  # noqa: PLC0415 - it cannot be loaded where the current directory was removed
    except FileNotFoundError:
        return
    measuring = Measuring() if _CONFIG.exists() and Coverage.current() is None else None
    if measuring and measuring.started:
        for function in ("_exit", "execv", "execve"):
            _save_before(function, measuring)


_measure()
