"""Slugs of tasks, made from titles."""

from __future__ import annotations

from fleet.model.names import SLUG_LENGTH
from fleet.model.text.alphabets import latin

_ROOM_FOR_NUMBER = 6
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


def slug_from(title: str) -> str:
    """Return a slug for a title: `Fix the Login-Page!` becomes fix-the-login-page, `Größe` becomes groesse.

    A title that cannot be written in Latin letters becomes `task-` with a checksum of the title; one without letters
    and digits becomes `task`.
    """
    words = "".join(letter if letter in _PLAIN else " " for letter in latin(title)).split()
    short = "-".join(words)[: SLUG_LENGTH - _ROOM_FOR_NUMBER].strip("-")
    return short or (_number_for(title) if any(map(str.isalnum, title)) else "task")


def _number_for(title: str) -> str:
    """Return the slug `task-` with a checksum of the title, for a title that cannot be written in Latin letters."""
    import zlib  # noqa: PLC0415 - for few titles

    return f"task-{zlib.crc32(title.encode()):08x}"


def numbered_slug(slug: str, number: int) -> str:
    """Return the slug with a number appended, unless the number is 1: the second task with a slug is number 2."""
    return slug if number == 1 else f"{slug}-{number}"
