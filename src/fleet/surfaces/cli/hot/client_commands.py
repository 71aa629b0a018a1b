"""Run commands of clients inside the daemon: it gets the words, and returns the output and the exit code.

Hot commands and reads run here. The exit code is None when the client has to run the command itself: the words are
wrong, ask for help, or call a command that needs its own process.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fleet import errors
from fleet.surfaces.cli import entry
from fleet.surfaces.cli.hot import fast, read_table, table
from fleet.surfaces.cli.hot.captured_stream import CapturedStream
from fleet.surfaces.cli.ui.streams import Screen
from fleet.surfaces.cli.ui.suggesting import suggest

# Hot commands that only change rows.
_QUICK = frozenset({"log", "artifact", "claim"})

if TYPE_CHECKING:
    from fleet.surfaces.cli.hot.table import Values


class ClientCommands:
    """Runs commands of clients inside the daemon, each in the thread that answers it.

    To collect what a command prints, it replaces sys.stdout and sys.stderr of the daemon.
    """

    def __init__(self) -> None:
        self._out, self._err = CapturedStream(sys.stdout), CapturedStream(sys.stderr)
        sys.stdout, sys.stderr = Screen(self._out), Screen(self._err)  # type: ignore[arg-type]

    def is_quick(self, words: list[str]) -> bool:
        """Whether the words call a command that only changes rows, so that the daemon's writer can run it."""
        called = table.find(words)
        return called is not None and called[0].name in _QUICK

    def run(self, words: list[str], key: str | None) -> tuple[int | None, str, str]:
        """Run a command for the client of this thread. Returns its exit code, its output and its error output.

        The exit code is None when the client has to run the command itself.
        """
        self._out.begin()
        self._err.begin()
        try:
            code = _run_or_print_error(words, key)
        finally:
            out, err = self._out.end(), self._err.end()
        return code, out, err


def _run_or_print_error(words: list[str], key: str | None) -> int | None:
    """Run a command and return its exit code; print a FleetError and return its code.

    Returns None when the client has to run the command.
    """
    try:
        return _run(words, key)
    except errors.FleetError as error:
        if isinstance(error, errors.Absent):
            suggest(error)
        entry.print_error(error, as_json="--json" in words)
        return error.code


def _run(words: list[str], key: str | None) -> int | None:
    """Run a hot command or a read and return its exit code; None when the words call another command or need click."""
    called = table.find(words)
    if called is not None:
        hot, short, rest = called
        values = fast.parse(hot, rest, short=short)
        return None if values is None else fast.perform(hot, values, short=short, key=key)
    read = read_table.find(words)
    given: Values | None = read[0].parse(read[1]) if read else None
    if read is None or given is None:
        return None
    read[0].perform(given)
    return 0
