"""Make the control and hidden characters in a text visible, so that no terminal obeys or hides them."""

from __future__ import annotations

# Unicode's pictures of the control characters: ␀ is the first of them.
_PICTURES = 0x2400
_DELETE = 0x7F
_BEYOND_16_BITS = 0x10000
# What is neither drawn nor a blank: C1 controls, soft hyphen, bidirectional marks, overrides and isolates, zero-width blanks, line
# and paragraph separators, annotations, musical formats, tags. Not among them: U+200C and U+200D, which Persian and emoji need.
_HIDDEN = (
    (0x80, 0x9F),
    (0xAD, 0xAD),
    (0x61C, 0x61C),
    (0x180E, 0x180E),
    (0x200B, 0x200B),
    (0x200E, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE007F),
)


def escape(point: int) -> str:
    """Return the JSON escape of the character `point`: a backslash and `u001b`, or two such escapes beyond 16 bits."""
    if point < _BEYOND_16_BITS:
        return f"\\u{point:04x}"
    high, low = divmod(point - _BEYOND_16_BITS, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def text(given: str) -> str:
    """Return a text with control and hidden characters as pictures or escapes; newlines and tabs stay as they are."""
    plain = given.replace("\n", "").replace("\t", "").isprintable()
    return given if plain else given.translate(_table())


def line(given: str) -> str:
    """Return a text as one line, with control and hidden characters as in `text`; newlines become ␤ and tabs blanks."""
    return given if given.isprintable() else given.translate(_table() | {ord("\n"): "␤", ord("\t"): " "})


def _table() -> dict[int, str]:
    """Return the replacement of each control and hidden character; built when first needed."""
    if not _made:
        _made.update({point: chr(_PICTURES + point) for point in range(0x20) if chr(point) not in "\n\t"})
        _made.update({point: escape(point) for first, last in _HIDDEN for point in range(first, last + 1)})
        _made[_DELETE] = "␡"
    return _made


_made: dict[int, str] = {}


def tail(given: str, most: int, *, more: str = "") -> str:
    """Return the last `most` characters of a text, after a note of how many were left out; `more` says where they are.

    A text that is not longer is returned unchanged.
    """
    if len(given) <= most:
        return given
    return f"({len(given) - most:,} characters before this left out{f': {more}' if more else ''}) …{given[-most:]}"


def cut(given: str, most: int, *, more: str = "") -> str:
    """Return the first `most` characters of a text, followed by a note of how many were left out.

    `more` says where to see the rest. A text that is not longer is returned unchanged.
    """
    if len(given) <= most:
        return given
    return f"{given[:most]}… ({len(given) - most:,} more characters{f': {more}' if more else ''})"
