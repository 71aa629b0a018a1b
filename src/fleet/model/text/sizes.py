"""Sizes are whole bytes; people write and read them otherwise."""

from __future__ import annotations

UNITS = {"KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000}
_DIGITS = 6


def size(given: str) -> int | None:
    """Parse `500MB` or `5 GB` into bytes; None when it is not a size."""
    number, unit = given.strip()[:-2].strip(), given.strip()[-2:].upper()
    if not (number.isascii() and number.isdigit() and len(number) <= _DIGITS and unit in UNITS):
        return None
    return int(number) * UNITS[unit]


def shown_size(count: int) -> str:
    """Return a size for people: 2 GB, 1.5 MB, 300 bytes."""
    for unit, least in reversed(UNITS.items()):
        if count >= least:
            return f"{count / least:.1f}".removesuffix(".0") + f" {unit}"
    return f"{count} bytes"


def counted(number: int, noun: str) -> str:
    """Return the number with its noun, in the plural unless the number is 1."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
