"""Standard input, output and error as they may be: closed, full, or of few letters. Nothing gets out that a terminal would obey.

Every text that is printed passes `Screen.write`, which shows control characters instead of sending them. Fleet's own colours
and cursor movements are written with ESCAPE, which becomes the escape character there. It is made of random characters, so no
text of an agent contains it.
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

_WAYS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
_PRIVATE = 0xF0000
# What stands for the escape character in sequences of fleet's own.
ESCAPE = "".join(chr(_PRIVATE + int.from_bytes(os.urandom(2), "big")) for _ in range(4))
_ESC = "\033"


class Screen:
    """A stream for people. It has no `buffer`: there is no way around it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str | bytes) -> int:
        """Write a text; control characters in it are shown, not sent. click hands over bytes when a shell completes."""
        return self._stream.write(sent(text if isinstance(text, str) else text.decode("utf-8", "replace")))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts, one after the other."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Hand over what was written."""
        self._stream.flush()

    def isatty(self) -> bool:
        """Whether a person is looking."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """The number of the file."""
        return self._stream.fileno()

    @property
    def encoding(self) -> str:
        """How letters become bytes."""
        return self._stream.encoding

    @property
    def errors(self) -> str | None:
        """What becomes of letters that the encoding lacks."""
        return self._stream.errors

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._stream.closed


def sent(text: str) -> str:
    """A text as it may be sent to a terminal: the only escape sequences in it are fleet's own."""
    return escapes.text(text).replace(ESCAPE, _ESC)


def prepare() -> None:
    """Open closed streams onto nothing, replace characters that an encoding lacks, and let all output pass a Screen."""
    register_error("fleet", _escaped)
    for name, way in _WAYS:
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, way, encoding="utf-8"))  # noqa: SIM115 - for as long as the process lives
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        stream.reconfigure(errors="fleet")
        setattr(sys, name, Screen(stream))


def tell(text: str) -> None:
    """An error for people, on stderr, after all that was printed. Whether anybody reads it changes nothing."""
    finish()
    lines = text.replace("\nfleet: ", "\n  fleet: ")  # what a program printed does not pass for an error of ours
    try:
        sys.stderr.write(f"fleet: {lines}\n")
        sys.stderr.flush()
    except OSError:
        hush(2)


def answer(document: object) -> None:
    """An error for programs, on stdout."""
    try:
        sys.stdout.write(f"{jsontext.dumps(document)}\n")
    except OSError:
        hush(1)


def finish() -> None:
    """Hand over what was printed before an error; the error counts more than a reader that is gone."""
    try:
        sys.stdout.flush()
    except OSError:
        hush(1)


def hush(number: int) -> None:
    """The reader went away (`fleet task list | head -1`): say nothing more to it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """\\u2192 for a letter that cannot be shown: people can look it up, and it is what JSON writes too."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(escapes.escape(ord(char)) for char in error.object[error.start : error.end]), error.end
