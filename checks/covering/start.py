"""Start to measure coverage in a Python process that begins. A .pth file of the environment runs this during `make
coverage`.

It depends on no environment variable, because an agent gets only those that its engine names. fleet ends by `os._exit`
and becomes an agent by `os.execve`: the measurements are saved before either.
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
    """Start coverage as its environment variable would, and unset the variable again, so that no child or test sees it."""
    os.environ[_VARIABLE] = str(_CONFIG)
    try:
        return coverage.process_startup()
    finally:
        del os.environ[_VARIABLE]


def _save_before(name: str, measuring: coverage.Coverage) -> None:
    """Replace a function of `os` that never returns by one that first saves the measurements."""
    leave: Callable[..., object] = getattr(os, name)

    def save_and_leave(*arguments: object) -> object:
        measuring.stop()
        measuring.save()
        return leave(*arguments)

    setattr(os, name, save_and_leave)


if _CONFIG.exists() and (started := _start()):
    for function in ("_exit", "execv", "execve"):
        _save_before(function, started)
