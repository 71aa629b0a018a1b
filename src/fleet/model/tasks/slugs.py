"""Slugs of tasks, made from titles."""

from __future__ import annotations

import re
import unicodedata

from fleet.model.names import SLUG_LENGTH

_ROOM_FOR_NUMBER = 6


def slug_from(title: str) -> str:
    """Return a slug for a title: `Fix the Login-Page!` becomes fix-the-login-page. `task` when no letter is usable."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    return words[: SLUG_LENGTH - _ROOM_FOR_NUMBER].strip("-") or "task"


def numbered_slug(slug: str, number: int) -> str:
    """Return the slug with a number appended, for the second and later tasks of the same slug."""
    return slug if number == 1 else f"{slug}-{number}"
