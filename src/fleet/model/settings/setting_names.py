"""Find the settings in a config.toml without reading TOML, whose parser costs one and a half interpreter starts.

The text is followed as the grammar of TOML 1.0 says: keys, strings, lists, tables and comments, over several lines where TOML
allows that. What it does not know well is a doubt: the caller reads TOML then.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    # The dotted name of a setting, and the place of its value in the text; the name of a table ends with a dot.
    Place = tuple[str, int]
    # The places of settings, and in the end the place after what was followed.
    Places = Generator[Place, None, int]

_BLANK = " \t"
_SPACE = " \t\n"
_QUOTES = ('"', "'")
_BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
# Numbers, dates with a blank before the time, true, false, inf and nan.
_SCALAR = _BARE | frozenset("+.: ")


class Doubt(Exception):
    """Raised when the text is not TOML, or has something that only the parser of TOML understands."""


def setting_places(text: str) -> Iterator[Place]:
    """Yield the dotted name of each setting in the text, and the place of its value. Raise Doubt when it is not sure.

    A table is yielded, too: its name ends with a dot.
    """
    at, table = 0, ""
    while (at := _after_comments(text, at)) < len(text):
        if text[at] == "[":
            name, at = _key(text, at + 1)
            at = _expect("]", text, at)
            table = f"{name}."
            yield table, at
        else:
            at = yield from _setting(text, at, table)
        at = _end_of_line(text, at)


def _setting(text: str, at: int, table: str) -> Places:
    """Yield the places of the setting `key = value` that begins at this place; return the place after it."""
    name, at = _key(text, at)
    return (yield from _value(text, _after(_BLANK, text, _expect("=", text, at)), table + name))


def _value(text: str, at: int, name: str) -> Places:
    """Yield the places of what a value sets: itself, or the settings in its table; return the place after it."""
    if text[at : at + 1] == "{":
        yield f"{name}.", at
        return (yield from _inline_table(text, at + 1, f"{name}."))
    yield name, at
    if text[at : at + 1] == "[":
        return (yield from _list(text, at + 1, name))
    if text[at : at + 1] in _QUOTES:
        return _after_string(text, at)
    end = at
    while text[end : end + 1] in _SCALAR:
        end += 1
    if not text[at:end].strip():
        raise Doubt
    return end


def _list(text: str, at: int, name: str) -> Places:
    """Yield the places of the items of a list (a table in it has settings); return the place after the list."""
    at = _after_comments(text, at)
    while text[at : at + 1] != "]":
        at = _after_comments(text, (yield from _value(text, at, name)))
        if text[at : at + 1] != "]":
            at = _after_comments(text, _expect(",", text, at))
    return at + 1


def _inline_table(text: str, at: int, table: str) -> Places:
    """Yield the places of the settings in a table in braces; return the place after it."""
    at = _after(_BLANK, text, at)
    if text[at : at + 1] == "}":
        return at + 1
    while True:
        at = _after(_BLANK, text, (yield from _setting(text, at, table)))
        if text[at : at + 1] == "}":
            return at + 1
        at = _expect(",", text, at)


def _key(text: str, at: int) -> tuple[str, int]:
    """Return the dotted key at this place, without blanks and quotes around its parts, and the place after it."""
    parts = []
    while True:
        at = _after(_BLANK, text, at)
        end = at
        if text[at : at + 1] in _QUOTES:
            end = text.find(text[at], at + 1) + 1
            parts.append(text[at + 1 : end - 1])
        else:
            while text[end : end + 1] in _BARE:
                end += 1
            parts.append(text[at:end])
        if end <= at or not parts[-1] or not _BARE.issuperset(parts[-1]):
            raise Doubt
        at = _after(_BLANK, text, end)
        if text[at : at + 1] != ".":
            return ".".join(parts), at
        at += 1


def _after_string(text: str, at: int) -> int:
    """Return the place after the string of one line or of several that begins here."""
    quote = text[at]
    if not text.startswith(quote * 3, at):
        end = _end_of_string(text, at + 1, quote)
        if "\n" in text[at:end]:
            raise Doubt
        return end + 1
    end = _end_of_string(text, at + 3, quote * 3) + 3
    for _ in range(2):  # up to two quotes may stand before the three that end it
        end += text.startswith(quote, end)
    return end


def _end_of_string(text: str, at: int, quotes: str) -> int:
    """Return the place of the quotes that end a string. Only in double quotes does a backslash escape the next character."""
    while True:
        end = text.find(quotes, at)
        if end < 0:
            raise Doubt
        escape = text.find("\\", at, end) if quotes[0] == '"' else -1
        if escape < 0:
            return end
        at = escape + 2


def _after(blanks: str, text: str, at: int) -> int:
    """Return the place after blanks."""
    while at < len(text) and text[at] in blanks:
        at += 1
    return at


def _after_comments(text: str, at: int) -> int:
    """Return the place after blanks, line ends and comments."""
    at = _after(_SPACE, text, at)
    while text[at : at + 1] == "#":
        line_end = text.find("\n", at)
        at = _after(_SPACE, text, line_end) if line_end >= 0 else len(text)
    return at


def _end_of_line(text: str, at: int) -> int:
    """Return the end of a line on which nothing but a comment follows."""
    at = _after(_BLANK, text, at)
    if text[at : at + 1] not in ("", "\n", "#"):
        raise Doubt
    return at


def _expect(sign: str, text: str, at: int) -> int:
    """Return the place after this sign, which may have blanks before it."""
    at = _after(_BLANK, text, at)
    if text[at : at + 1] != sign:
        raise Doubt
    return at + 1
