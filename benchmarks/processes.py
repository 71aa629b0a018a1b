"""Measure whole processes: their time, memory and output."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import resource

ROOT = Path(__file__).resolve().parent.parent
PYTHON = str(ROOT / ".venv/bin/python")
FLEET = str(ROOT / ".venv/bin/fleet")
BARE = [PYTHON, "-c", "pass"]
# On Linux a child's peak is at least the memory of the parent that started it, so the parent must be smaller than it.
LAUNCHER = """
import posix, sys
silent = [(posix.POSIX_SPAWN_OPEN, 1, "/dev/null", posix.O_WRONLY, 0)]
pid = posix.posix_spawn(sys.argv[1], sys.argv[1:], posix.environ, file_actions=silent)
_, status, usage = posix.wait4(pid, 0)
print(usage.ru_maxrss if status == 0 else "failed")
"""


def environment(**more: str) -> dict[str, str]:
    """Return the environment without variables that change how Python starts or who fleet takes the caller for.

    The variables in `more` are added.
    """
    strange = ("FLEET_", "PYTHON", "COVERAGE_", "_FLEET")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(strange)}
    return kept | more


def compile_bytecode() -> None:
    """Write the bytecode as an installer does, and the bundle as the first command does."""
    renew = "from fleet import bundle_writing; bundle_writing.renew()"
    for words in (["-m", "compileall", "-q", "src/fleet"], ["-c", renew]):
        subprocess.run([PYTHON, *words], cwd=ROOT, env=environment(), check=True)


def seconds_of(words: list[str], env: dict[str, str]) -> float:
    """Run a command to its end and return the seconds; exit the benchmark when it fails."""
    started = perf_counter()
    _run_to_end(words, env)
    return perf_counter() - started


def processor_seconds_of(words: list[str], env: dict[str, str]) -> float:
    """Run a command to its end and return the seconds of the processor, those of its own children too."""
    usage = _run_to_end(words, env)
    return usage.ru_utime + usage.ru_stime


def _run_to_end(words: list[str], env: dict[str, str]) -> resource.struct_rusage:
    """Run a command to its end without its output, and return what it used; exit the benchmark when it fails."""
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    pid = os.posix_spawn(words[0], words, env, file_actions=silent)
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"{' '.join(words)} gave {os.waitstatus_to_exitcode(status)}")
    return usage


def peak_of(words: list[str], env: dict[str, str]) -> float:
    """Run a command and return its peak memory in megabytes; raise ValueError when it fails."""
    return int(output_of([PYTHON, "-I", "-S", "-c", LAUNCHER, *words], env)) * 1024 / 1e6


def output_of(words: list[str], env: dict[str, str], *, errors: bool = False) -> str:
    """Run a command and return its standard output, or with `errors` its standard error.

    Raise CalledProcessError when it fails.
    """
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    return done.stderr if errors else done.stdout
