"""Find the settings in a config.toml without reading TOML, whose parser costs one and a half interpreter starts.

This module follows the grammar of TOML 1.0: keys, strings, lists, tables and comments, over several lines where TOML
allows that. Where it is not sure, it raises NeedsTomlParser, and the caller has to use the parser of TOML.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    # The dotted name of a setting, and the place of its value in the text; the name of a table ends with a dot.
    SettingPlace = tuple[str, int]
    # Yields the places of settings, and returns the index after the text that was read.
    SettingPlaces = Generator[SettingPlace, None, int]

HOME_FILE = "config.toml"  # the settings of a home, in its folder
_BLANK = " \t"
_SPACE = " \t\n"
_QUOTES = ('"', "'")
_BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
# Numbers, dates with a blank before the time, true, false, inf and nan.
_SCALAR = _BARE | frozenset("+.: ")


class NeedsTomlParser(Exception):
    """Raised when the text is not TOML, or has something that only the parser of TOML understands."""


def setting_places(text: str) -> Iterator[SettingPlace]:
    """Yield (dotted name, index of its value in the text) for each setting; for a table, the name ends with a dot.

    Raise NeedsTomlParser when the text is not TOML, or only the parser of TOML understands it.
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


def _setting(text: str, at: int, table: str) -> SettingPlaces:
    """Yield (name, index) for each setting in the `key = value` at index `at`; return the index after the value.

    `table` is put before the name: the name of the table around the setting, with a dot, or "".
    """
    name, at = _key(text, at)
    return (yield from _value(text, _after(_BLANK, text, _expect("=", text, at)), table + name))


def _value(text: str, at: int, name: str) -> SettingPlaces:
    """Yield (name, index) for the value at index `at`, and for the settings in its tables; return the index after it.

    Raise NeedsTomlParser when there is no value.
    """
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
        raise NeedsTomlParser
    return end


def _list(text: str, at: int, name: str) -> SettingPlaces:
    """Yield (name, index) for each item of a list, and for the settings in tables among the items.

    Return the index after its `]`. `at` is the index after its `[`; `name` is the setting whose value is the list.
    """
    at = _after_comments(text, at)
    while text[at : at + 1] != "]":
        at = _after_comments(text, (yield from _value(text, at, name)))
        if text[at : at + 1] != "]":
            at = _after_comments(text, _expect(",", text, at))
    return at + 1


def _inline_table(text: str, at: int, table: str) -> SettingPlaces:
    """Yield (name, index) for each setting in a table in braces; return the index after its `}`.

    `at` is the index after its `{`, `table` the name of the table with a dot.
    """
    at = _after(_BLANK, text, at)
    if text[at : at + 1] == "}":
        return at + 1
    while True:
        at = _after(_BLANK, text, (yield from _setting(text, at, table)))
        if text[at : at + 1] == "}":
            return at + 1
        at = _expect(",", text, at)


def _key(text: str, at: int) -> tuple[str, int]:
    """Return the dotted key at index `at`, without blanks and quotes around its parts, and the index after it.

    Raise NeedsTomlParser when there is no key, or it has other characters than letters, digits, `_` and `-`.
    """
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
            raise NeedsTomlParser
        at = _after(_BLANK, text, end)
        if text[at : at + 1] != ".":
            return ".".join(parts), at
        at += 1


def _after_string(text: str, at: int) -> int:
    """Return the index after the string that begins with the quote at index `at`. It may have several lines."""
    quote = text[at]
    if not text.startswith(quote * 3, at):
        end = _end_of_string(text, at + 1, quote)
        if "\n" in text[at:end]:
            raise NeedsTomlParser
        return end + 1
    end = _end_of_string(text, at + 3, quote * 3) + 3
    for _ in range(2):  # up to two quotes may stand before the three that end it
        end += text.startswith(quote, end)
    return end


def _end_of_string(text: str, at: int, quotes: str) -> int:
    """Return the index of the `quotes` that end a string; search from index `at`. Raise NeedsTomlParser when there are none.

    Only in double quotes does a backslash escape the next character.
    """
    while True:
        end = text.find(quotes, at)
        if end < 0:
            raise NeedsTomlParser
        escape = text.find("\\", at, end) if quotes[0] == '"' else -1
        if escape < 0:
            return end
        at = escape + 2


def _after(blanks: str, text: str, at: int) -> int:
    """Return the first index from `at` on whose character is not in `blanks`; the text's length if there is none."""
    while at < len(text) and text[at] in blanks:
        at += 1
    return at


def _after_comments(text: str, at: int) -> int:
    """Return the index after all blanks, line ends and comments that follow from index `at` on."""
    at = _after(_SPACE, text, at)
    while text[at : at + 1] == "#":
        line_end = text.find("\n", at)
        at = _after(_SPACE, text, line_end) if line_end >= 0 else len(text)
    return at


def _end_of_line(text: str, at: int) -> int:
    """Return the index at which the line ends, or its comment begins, after blanks from index `at` on.

    Raise NeedsTomlParser when the line has anything else there.
    """
    at = _after(_BLANK, text, at)
    if text[at : at + 1] not in ("", "\n", "#"):
        raise NeedsTomlParser
    return at


def _expect(sign: str, text: str, at: int) -> int:
    """Return the index after `sign`, which has to follow at index `at` or after blanks; raise NeedsTomlParser if it does not."""
    at = _after(_BLANK, text, at)
    if text[at : at + 1] != sign:
        raise NeedsTomlParser
    return at + 1
