"""Standard input, output and error, which may be closed, full or of a limited encoding; and protection of the terminal.

Every text that is printed passes `Screen.write`, which makes control characters visible instead of sending them. fleet's own
colours and cursor movements are written with ESCAPE, which `Screen.write` replaces by the escape character. ESCAPE consists of
random characters, so that no agent's text contains it.
"""

from __future__ import annotations

import os
import sys
from codecs import register_error

from fleet.model.text import escapes, jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
# The first of the 65,536 characters for private use from which ESCAPE is made.
_PRIVATE = 0xF0000
# Stands for the escape character in fleet's own sequences.
ESCAPE = "".join(chr(_PRIVATE + int.from_bytes(os.urandom(2), "big")) for _ in range(4))
_ESC = "\033"


class Screen:
    """An output stream for people. It has no `buffer`, so nothing can bypass `write`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str | bytes) -> int:
        """Write a text with its control characters made visible. During shell completion click passes bytes."""
        return self._stream.write(escape_controls(text if isinstance(text, str) else text.decode("utf-8", "replace")))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts one after the other."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """Return the stream's file descriptor."""
        return self._stream.fileno()

    @property
    def encoding(self) -> str:
        """Return the name of the stream's encoding."""
        return self._stream.encoding

    @property
    def errors(self) -> str | None:
        """Return the name of the handler for characters that the encoding lacks."""
        return self._stream.errors

    @property
    def closed(self) -> bool:
        """Whether the stream is closed."""
        return self._stream.closed


def escape_controls(text: str) -> str:
    """Return the text as a terminal may receive it: its only escape sequences are fleet's own."""
    return escapes.text(text).replace(ESCAPE, _ESC)


def prepare() -> None:
    """Prepare the standard streams of this process.

    Closed ones are opened on /dev/null, characters that their encoding lacks are escaped, and all output passes through a
    Screen.
    """
    register_error("fleet", _escape_unencodable)
    for name, mode in _STREAMS:
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for as long as the process lives
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        stream.reconfigure(errors="fleet")
        setattr(sys, name, Screen(stream))


def print_error(text: str) -> None:
    """Print an error for people on stderr, after all other output; ignore a stderr that cannot be written."""
    flush_output()
    lines = text.replace("\nfleet: ", "\n  fleet: ")  # a program's output cannot imitate an error of fleet
    try:
        sys.stderr.write(f"fleet: {lines}\n")
        sys.stderr.flush()
    except OSError:
        discard_output(2)


def print_json_error(document: object) -> None:
    """Print an error for programs as JSON on stdout; ignore a stdout that cannot be written."""
    try:
        sys.stdout.write(f"{jsontext.dumps(document)}\n")
    except OSError:
        discard_output(1)


def flush_output() -> None:
    """Flush stdout before an error is printed; ignore a stdout that cannot be written."""
    try:
        sys.stdout.flush()
    except OSError:
        discard_output(1)


def discard_output(number: int) -> None:
    """Send all further output of a descriptor to /dev/null, because it cannot be written (`fleet ps | head -1`)."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def _escape_unencodable(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that the encoding lacks by escapes like \\u2192, as JSON does.

    An error handler for the module `codecs`. Returns the escapes, and the position at which encoding continues.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(escapes.escape(ord(char)) for char in error.object[error.start : error.end]), error.end
