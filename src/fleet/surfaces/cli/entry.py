"""Run a command line of `fleet` in this process, because the daemon has not run it.

Hot commands and read commands run with very few imports; click runs all others, and imports one group at a time.
"""

from __future__ import annotations

import gc
import os
import sys

from fleet import errors
from fleet.bundle import BUNDLE
from fleet.model import FLEET_DISPATCH_ID
from fleet.surfaces.cli.hot import table
from fleet.surfaces.cli.ui import streams

FAILED = 1
EXIT_INTERRUPTED = 130


def main(key: str | None = None) -> int:
    """Run the command line of this process and end the process with the command's exit code.

    That code is 130 after Ctrl-C, 0 when nobody reads the output any more, 1 when it cannot be written. `key` is the
    idempotency key under which the daemon was asked to run the same command before; None when it was not asked. Returns
    the exit code only when Python runs interactively (-i).
    """
    streams.prepare()
    try:
        code = run(sys.argv[1:], key)
        sys.stdout.flush()
    except KeyboardInterrupt:
        streams.print_error("interrupted")
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        streams.discard_output(1)
        code = 0
    except OSError as error:
        if error.filename is not None:  # it concerns a file, not an output stream: a bug of fleet
            raise
        streams.discard_output(1)
        streams.print_error(f"the output could not be written: {str(error.strerror).lower()}")
        code = FAILED
    _exit_at_once(code)
    return code


def run(words: list[str], key: str | None = None) -> int:
    """Run a command and return its exit code. Print a FleetError instead of raising it, and return its exit code.

    When the whole home vanishes while the command runs, print that, too. `key` is used when the words have no --key.
    """
    try:
        _refuse_invalid_utf8(words)
        return _run(words, key)
    except errors.FleetError as error:
        if table.is_for_programs(words):
            from fleet.surfaces.cli.commands.dispatch.claims import print_refused_words

            return print_refused_words(words, error)
        if isinstance(error, errors.Absent):
            from fleet.surfaces.cli.ui.suggesting import suggest

            suggest(error)
        print_error(error, as_json="--json" in words)
        return error.code
    except FileNotFoundError as missing:
        gone = _home_gone_error(missing)
        if gone is None:
            raise
        print_error(gone, as_json="--json" in words)
        return gone.code


def _home_gone_error(missing: FileNotFoundError) -> errors.FleetError | None:
    """Return the error that the whole home has vanished while a command ran; None when only a file is missing."""
    from fleet.world.home.location import home_path

    home = home_path()
    if os.path.lexists(home) or not str(missing.filename or "").startswith(home):
        return None
    return errors.HomeUnusable(path=home, why="it was moved or removed while the command ran")


def _run(words: list[str], key: str | None) -> int:
    """Run the command `words` in the way that suits it, and return its exit code.

    Hooks and the programs of tmux sessions have code of their own, as have the commands of the hot and the read table;
    click runs the rest. `key` is the idempotency key.
    """
    if table.is_hook(words):
        if not os.environ.get(FLEET_DISPATCH_ID):
            return 0  # outside an agent of fleet a hook does nothing
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
            return fast.perform(command, values, short=short, key=key)
    if called is None and "_FLEET_COMPLETE" not in os.environ and (_run_read_command(words) or _add_task(words)):
        return 0
    return _run_slow_command(words)


def _run_slow_command(words: list[str]) -> int:
    """Run a command with click and return the exit code.

    When a module was missing in the bundle of modules (`fleet/bundle.py`), write that file again.
    """
    from fleet.surfaces.cli.app import run_click

    try:
        return run_click(words)
    finally:
        if BUNDLE.missed:
            from fleet.bundle_writing import renew

            renew()


def _run_read_command(words: list[str]) -> bool:
    """Run a command of the read table.

    Returns False when the words call another command, or click has to parse them.
    """
    from fleet.surfaces.cli.hot import read_table

    called = read_table.find(words)
    values = called[0].parse(called[1]) if called else None
    if called is None or values is None:
        return False
    from fleet.surfaces.cli.moved_home import warn_of_move

    called[0].perform(values)
    warn_of_move(words)
    return True


def _add_task(words: list[str]) -> bool:
    """Run `fleet task add`. Returns False when the words call another command, or click has to parse them."""
    if words[:2] != ["task", "add"]:
        return False
    from fleet.surfaces.cli.hot import adding

    values = adding.parse(words[2:])
    if values is not None:
        adding.perform(values)
    return values is not None


def collect_garbage() -> None:
    """Turn on garbage collection, which is off while modules are imported. It never examines the imported objects."""
    gc.freeze()
    gc.enable()


def _refuse_invalid_utf8(words: list[str]) -> None:
    """Raise BadText for an argument that is not valid UTF-8: Python's surrogates for its bytes cannot be stored."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            advice = "convert it, for example with `iconv -t utf-8`"
            raise errors.BadText(what=f"word {word!a}", why="is not valid UTF-8", advice=advice) from None


def print_error(error: errors.FleetError, *, as_json: bool) -> None:
    """Print an error: one line on stderr for people, and with `as_json` also a JSON object on stdout."""
    if as_json:
        streams.print_json_error(error.as_document())
    streams.print_error(error.spoken)


def _exit_at_once(code: int) -> None:
    """End the process without the interpreter's slow shutdown. The caller has written all output and closed everything.

    Return without ending it when Python runs interactively (-i), which goes on after the program.
    """
    if not sys.flags.interactive:
        os._exit(code)
