"""JSON without the json package, whose import of re costs half an interpreter start.

CPython ships the encoder and the scanner as C functions in `_json`; the json package is a wrapper around the same two.
"""

from __future__ import annotations

from _json import encode_basestring, make_encoder, make_scanner


class _Rules:
    """What the scanner asks of its decoder."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def _refuse(value: object) -> object:
    msg = f"{type(value).__name__} is not JSON"
    raise TypeError(msg)


_encode = make_encoder(None, _refuse, encode_basestring, None, ": ", ", ", False, False, False)  # noqa: FBT003
_scan = make_scanner(_Rules)  # type: ignore[arg-type]


def dumps(value: object) -> str:
    """The value as one line of JSON, DEL escaped like the other control characters: the encoder leaves that one out."""
    return "".join(_encode(value, 0)).replace("\x7f", "\\u007f")


def loads(text: str) -> object:
    """The value of a text that `dumps` made (no surrounding blanks)."""
    value, _end = _scan(text, 0)
    return value
