"""Parse and show sizes in bytes, such as 5GB."""

from __future__ import annotations

UNITS = {"KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000}
_DIGITS = 6


def size(given: str) -> int | None:
    """Return the bytes of a size like `500MB` or `5 gb`: a whole number and a unit. None for any other text."""
    number, unit = given.strip()[:-2].strip(), given.strip()[-2:].upper()
    if not (number.isascii() and number.isdigit() and len(number) <= _DIGITS and unit in UNITS):
        return None
    return int(number) * UNITS[unit]


def shown_size(count: int) -> str:
    """Return a number of bytes as text for people: 2 GB, 1.5 MB, 300 bytes."""
    for unit, least in reversed(UNITS.items()):
        if count >= least:
            return f"{count / least:.1f}".removesuffix(".0") + f" {unit}"
    return f"{count} bytes"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return the number with its noun, in the plural unless the number is 1. The plural ends with s if none is given."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"
