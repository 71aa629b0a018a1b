"""Where `fleet` begins.

Hot commands are answered here with next to no imports; everything else is click's, loaded a group at a time.
"""

from __future__ import annotations

import gc
import os
import sys

from fleet.errors import FleetError
from fleet.model import jsontext
from fleet.surfaces.cli import hot_table

INTERRUPTED = 130


def main() -> int:
    """Run the command line and say how it went."""
    words = sys.argv[1:]
    try:
        code = run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write("fleet: interrupted\n")
        code = INTERRUPTED
    except BrokenPipeError:
        _hush()
        code = 0
    _leave(code)
    return code


def run(words: list[str]) -> int:
    """The exit code of a command; errors are told, not raised."""
    try:
        return _run(words)
    except FleetError as error:
        tell(error, as_json="--json" in words)
        return error.code


def _run(words: list[str]) -> int:
    called = None if "_FLEET_COMPLETE" in os.environ else hot_table.find(words)
    if called is not None:
        from fleet.surfaces.cli import hot

        command, short, rest = called
        values = hot.parse(command, rest, short=short)
        if values is not None:
            return hot.perform(command, values, short=short)
    gc.disable()  # importing makes much and frees nothing: a twentieth of the start
    from fleet.surfaces.cli.app import run_click

    return run_click(words)


def tell(error: FleetError, *, as_json: bool) -> None:
    """One line for people on stderr; for programs an object on stdout."""
    if as_json:
        sys.stdout.write(jsontext.dumps(error.as_document()) + "\n")
    sys.stdout.flush()
    hint = f" — {error.next_step}" if error.next_step else ""
    sys.stderr.write(f"fleet: {error}{hint}\n")


def _hush() -> None:
    """The reader went away (`fleet task list | head -1`): say nothing more, to anyone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _leave(code: int) -> None:
    """Skip the interpreter's slow goodbye: everything is written, and nothing is left to close."""
    if sys.flags.interactive or "coverage" in sys.modules:
        return
    sys.stderr.flush()
    os._exit(code)
