"""Print on stderr what a command waits for: after a second on a terminal, after ten seconds elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from fleet.model.text import escapes
from fleet.model.text.times import SECOND, age
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.streams import ESCAPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Seconds before anything is printed. In a log file only long waits matter.
ON_TERMINAL = 1.0
ELSEWHERE = 10.0
# Seconds between two drawings of the line on a terminal.
_STEP = 0.2
_FRAMES = "|/-\\"
# To the first column, and clear the rest of the line.
_HOME, _CLEAR = f"{ESCAPE}[1G", f"{ESCAPE}[K"


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Print what the command waits for (for example `merging parser`) while the `with` block runs; nothing with --json.

    On a terminal one line is rewritten until the block ends; elsewhere one line says that it takes long, and another
    how long it took.
    """
    command = click.get_current_context(silent=True)
    if command is not None and command.params.get("json"):
        yield
        return
    notice = WaitNotice(what, moving=sys.stderr.isatty())
    notice.start()
    try:
        yield
    finally:
        notice.stop()


class WaitNotice:
    """The message about one wait of a command. A thread prints it, while the command's own thread waits.

    With `moving`, the message is one line on a terminal, rewritten again and again with the time passed.
    """

    def __init__(self, what: str, *, moving: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._what = escapes.line(what)
        self._moving = moving
        self._clock = clock
        self._begun = clock()
        self._over = threading.Event()
        self._said = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start the thread that prints the message after a while."""
        self._thread.start()

    def stop(self) -> None:
        """End the message: clear its line on a terminal; elsewhere print how long the wait took, if it was announced."""
        self._over.set()
        self._thread.join()
        if self._said.is_set():
            self._write(f"{_HOME}{_CLEAR}" if self._moving else f"{self._what}: {self._elapsed()}\n")

    def _run(self) -> None:
        """Print the message after a while: once, or on a terminal again and again with the time. Runs in the thread."""
        frame = 0
        if self._over.wait(ON_TERMINAL if self._moving else ELSEWHERE):
            return
        self._said.set()
        if not self._moving:
            self._write(f"{self._what} …\n")
            return
        while not self._over.is_set():
            line = f"{_FRAMES[frame % len(_FRAMES)]} {self._what} … {self._elapsed()}"
            self._write(f"{_HOME}{terminal.shortened(line, terminal.cut_width() - 1)}{_CLEAR}")
            frame += 1
            self._over.wait(_STEP)

    def _elapsed(self) -> str:
        return age(round((self._clock() - self._begun) * SECOND))

    def _write(self, text: str) -> None:
        """Write to stderr; a stderr that cannot be written must not stop the command."""
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            self._over.set()
