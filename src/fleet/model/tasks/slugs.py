"""Slugs of tasks, made from titles."""

from __future__ import annotations

import re
import zlib

from fleet.model.names import SLUG_LENGTH
from fleet.model.text.alphabets import latin

_ROOM_FOR_NUMBER = 6


def slug_from(title: str) -> str:
    """Return a slug for a title: `Fix the Login-Page!` becomes fix-the-login-page, `Größe` becomes groesse.

    A title that cannot be written in Latin letters becomes `task-` with a number that is always the same for this title;
    one without any letter becomes `task`.
    """
    words = re.sub(r"[^a-z0-9]+", "-", latin(title)).strip("-")
    short = words[: SLUG_LENGTH - _ROOM_FOR_NUMBER].strip("-")
    return short or (f"task-{zlib.crc32(title.encode()):08x}" if any(map(str.isalnum, title)) else "task")


def numbered_slug(slug: str, number: int) -> str:
    """Return the slug with a number appended, for the second and later tasks of the same slug."""
    return slug if number == 1 else f"{slug}-{number}"
