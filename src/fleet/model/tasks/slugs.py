"""A slug from a title."""

from __future__ import annotations

import re
import unicodedata

from fleet.model.names import SLUG_LENGTH

_ROOM_FOR_NUMBER = 6


def slug_from(title: str) -> str:
    """`Fix the Login-Page!` becomes fix-the-login-page; a title without a usable letter becomes task."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    return words[: SLUG_LENGTH - _ROOM_FOR_NUMBER].strip("-") or "task"


def numbered_slug(slug: str, number: int) -> str:
    """The same slug for its n-th namesake."""
    return slug if number == 1 else f"{slug}-{number}"
