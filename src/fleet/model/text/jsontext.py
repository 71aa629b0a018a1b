"""Encode and decode JSON without the json package, which imports `re`; that import takes half an interpreter start."""

from __future__ import annotations

from fleet.fast import encode, scan


def dumps(value: object) -> str:
    """Return a value as one line of JSON. DEL is escaped too, which the encoder does not do.

    Raise TypeError or ValueError for a value that JSON cannot express.
    """
    return encode(value).replace("\x7f", "\\u007f")


def loads(text: str) -> object:
    """Return the value at the beginning of a JSON text, which must have no blanks before it; what follows is ignored.

    Raise ValueError or StopIteration when the text does not begin with JSON.
    """
    return scan(text)
