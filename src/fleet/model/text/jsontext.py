"""Encode and decode JSON without the json package, which imports `re`; that import takes half an interpreter start."""

from __future__ import annotations

from fleet.fast import encode, scan


def dumps(value: object) -> str:
    """Return a value as one line of JSON. DEL is escaped too, which the encoder does not do."""
    return encode(value).replace("\x7f", "\\u007f")


def loads(text: str) -> object:
    """Return the value of a JSON text, which must have no blanks around it.

    Raise ValueError or StopIteration when the text is not JSON.
    """
    return scan(text)
