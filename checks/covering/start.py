"""Begin to measure in a process that is just starting. A .pth file of the virtual environment runs this during `make coverage`.

It depends on no variable, because an agent gets those alone that its engine names. fleet ends by `os._exit` and becomes an agent
by `os.execve`: what was measured is saved before either.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import coverage

if TYPE_CHECKING:
    from collections.abc import Callable

_CONFIG = Path(sys.prefix).parent / ".build" / "coverage" / "config"
_VARIABLE = "COVERAGE_PROCESS_START"


def _start() -> coverage.Coverage | None:
    """Start as coverage would by its variable, which no child and no test sees."""
    os.environ[_VARIABLE] = str(_CONFIG)
    try:
        return coverage.process_startup()
    finally:
        del os.environ[_VARIABLE]


def _save_before(name: str, measuring: coverage.Coverage) -> None:
    """Let a function of `os` that never returns save first what was measured."""
    leave: Callable[..., object] = getattr(os, name)

    def save_and_leave(*arguments: object) -> object:
        measuring.stop()
        measuring.save()
        return leave(*arguments)

    setattr(os, name, save_and_leave)


if _CONFIG.exists() and (started := _start()):
    for function in ("_exit", "execv", "execve"):
        _save_before(function, started)
