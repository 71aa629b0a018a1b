"""Standard input, output and error as they may be: closed, full, or of few letters."""

from __future__ import annotations

import os
import sys
from codecs import register_error

from fleet.model import jsontext

_WAYS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
_BEYOND_16_BITS = 0x10000


def prepare() -> None:
    """Open those that are closed onto nothing, and let none stumble over a letter it does not have."""
    register_error("fleet", _escaped)
    for name, way in _WAYS:
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, way, encoding="utf-8"))  # noqa: SIM115 - for as long as the process lives
    sys.stdout.reconfigure(errors="fleet")  # type: ignore[union-attr]
    sys.stderr.reconfigure(errors="fleet")  # type: ignore[union-attr]


def tell(text: str) -> None:
    """One line for people, on stderr, after all that was printed. Whether anybody reads it changes nothing."""
    finish()
    try:
        sys.stderr.write(f"fleet: {text}\n")
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
    return "".join(_letter(ord(char)) for char in error.object[error.start : error.end]), error.end


def _letter(point: int) -> str:
    if point < _BEYOND_16_BITS:
        return f"\\u{point:04x}"
    high, low = divmod(point - _BEYOND_16_BITS, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
