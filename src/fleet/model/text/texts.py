"""Check what people and agents write: its length and forbidden characters."""

from __future__ import annotations

from fleet import errors

# The greatest lengths, in characters.
TITLE = 500
LINE = 2_000
MESSAGE = 64_000
DESCRIPTION = 1_000_000

_KEPT = frozenset("\n\t\r")
_BREAKS = frozenset("\n\r\u2028\u2029")
_FIRST_PRINTABLE = 0x20
_DELETE = 0x7F
_LAST_C1 = 0x9F


def title(given: str) -> str:
    """Return a title without blanks around it; raise BadText when `line` refuses it, or it has over 500 characters."""
    return line("title", given, most=TITLE)


def line(what: str, given: str, *, most: int = LINE) -> str:
    """Return a text of one line without blanks around it.

    Raise BadText when it is empty or too long, or has more than one line or control characters. `what` names the text
    in messages.
    """
    if _BREAKS.intersection(given.strip()):
        raise errors.BadText(what=what, why="has more than one line", advice="put the rest into --description")
    return text(what, given.strip(), most=most, advice=f"say it in {most} characters at most")


def text(what: str, given: str, *, most: int = MESSAGE, advice: str = "") -> str:
    """Return a text unchanged; raise BadText when it is blank, too long or has control characters.

    `what` names the text in messages; `advice` says what to do when it is too long ("": the usual advice).
    """
    if not given.strip():
        raise errors.BadText(what=what, why="is empty", advice=f"say something, in {most} characters at most")
    return maybe(what, given, most=most, advice=advice)


def maybe(what: str, given: str, *, most: int = DESCRIPTION, advice: str = "") -> str:
    """Return a text that may be empty, unchanged; raise BadText when it is too long or has control characters.

    `what` names the text in messages; `advice` says what to do when it is too long ("": the usual advice).
    """
    if len(given) > most:
        otherwise = "put it into a file and register that with `fleet artifact PATH`"
        raise errors.BadText(what=what, why=f"has {len(given)} characters, {most} at most", advice=advice or otherwise)
    if given.isprintable():
        return given
    for char in given:
        _refuse_control(what, char)
    return given


def _refuse_control(what: str, char: str) -> None:
    """Raise BadText for a surrogate, which stands for a byte that is not UTF-8, and for a control character.

    A newline, tab or carriage return is allowed.
    """
    point = ord(char)
    if 0xD800 <= point <= 0xDFFF:  # noqa: PLR2004 - surrogates: what argv holds for bytes that are no UTF-8
        raise errors.BadText(
            what=what, why="is not valid UTF-8", advice="convert it, for example with `iconv -t utf-8`"
        )
    control = point < _FIRST_PRINTABLE or _DELETE <= point <= _LAST_C1
    if control and char not in _KEPT:
        advice = "leave control characters out; colours go with `NO_COLOR=1`"
        raise errors.BadText(what=what, why=f"holds the control character U+{point:04X}", advice=advice)
