"""Where `fleet` begins.

Hot commands are answered here with next to no imports; everything else is click's, loaded a group at a time.
"""

from __future__ import annotations

import gc
import os
import sys

from fleet import errors
from fleet.surfaces.cli.hot import table
from fleet.surfaces.cli.ui import streams

FAILED = 1
INTERRUPTED = 130


def main() -> int:
    """Run the command line and say how it went."""
    streams.prepare()
    try:
        code = run(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        streams.tell("interrupted")
        code = INTERRUPTED
    except BrokenPipeError:
        streams.hush(1)
        code = 0
    except OSError as error:
        if error.filename is not None:  # not a stream, but a file that somebody forgot to think of
            raise
        streams.hush(1)
        streams.tell(f"the answer could not be printed: {str(error.strerror).lower()}")
        code = FAILED
    _leave(code)
    return code


def run(words: list[str]) -> int:
    """The exit code of a command; errors are printed, not raised."""
    try:
        _refuse_bytes(words)
        return _run(words)
    except errors.FleetError as error:
        tell(error, as_json="--json" in words)
        return error.code


def _run(words: list[str]) -> int:
    if table.is_hook(words):
        if not os.environ.get("FLEET_DISPATCH_ID"):
            return 0  # outside fleet a hook does nothing
        from fleet.surfaces.cli.hot import hook

        collect_garbage()
        return hook.run(event=words[1], engine=words[3])
    if table.is_of_session(words):
        from fleet.surfaces.cli.hot import session

        return session.run(words)
    called = None if "_FLEET_COMPLETE" in os.environ else table.find(words)
    if called is not None:
        from fleet.surfaces.cli.hot import fast

        command, short, rest = called
        values = fast.parse(command, rest, short=short)
        if values is not None:
            return fast.perform(command, values, short=short)
    if called is None and "_FLEET_COMPLETE" not in os.environ and _answer(words):
        return 0
    from fleet.surfaces.cli.app import run_click

    return run_click(words)


def _answer(words: list[str]) -> bool:
    """Answer a command that only reads. False when it is another one, or click should have a look."""
    from fleet.surfaces.cli.hot import read_table

    called = read_table.find(words)
    values = called[0].parse(called[1]) if called else None
    if called is None or values is None:
        return False
    from fleet.surfaces.cli.moved_home import warn_of_move

    called[0].perform(values)
    warn_of_move(words)
    return True


def collect_garbage() -> None:
    """Let Python collect garbage again, now that all modules are imported; the launcher has switched it off. Modules are no garbage."""
    gc.freeze()
    gc.enable()


def _refuse_bytes(words: list[str]) -> None:
    """Bytes that are no UTF-8 come as halves of surrogates, which no store, file or terminal takes."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            advice = "convert it, for example with `iconv -t utf-8`"
            raise errors.BadText(what=f"word {word!a}", why="is not valid UTF-8", advice=advice) from None


def tell(error: errors.FleetError, *, as_json: bool) -> None:
    """For people a line on stderr; for programs an object on stdout."""
    if as_json:
        streams.answer(error.as_document())
    streams.tell(error.spoken)


def _leave(code: int) -> None:
    """Skip the interpreter's slow goodbye: everything is written, and nothing is left to close."""
    if sys.flags.interactive or "coverage" in sys.modules:
        return
    os._exit(code)
