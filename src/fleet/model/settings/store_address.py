"""The settings of the store: which values they may have, and how they are found in a config.toml without reading TOML."""

from __future__ import annotations

from fleet.model.settings.setting_names import NeedsTomlParser, setting_places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

# The defaults of the settings `store` and `store_wait` (seconds), and the longest wait that may be set.
SQLITE, WAIT = "sqlite", 30.0
LONGEST_WAIT = 3_600
# The table of the screen's keys: the names in it are no settings.
_KEYS = "keys."


def is_address(value: object) -> bool:
    """Return whether a value is `sqlite` or the address of a PostgreSQL database."""
    return value == SQLITE or (isinstance(value, str) and value.startswith(("postgresql://", "postgres://")))


def is_wait(value: float) -> bool:
    """Return whether the setting `store_wait` may be this number of seconds: more than 0, at most an hour."""
    return 0 < value <= LONGEST_WAIT


def store_setting(text: str, *, elsewhere: Container[str]) -> tuple[str, float]:
    """Return the store's address in the text of a config.toml, and how many seconds to wait for its lock.

    A value that is not set has its default. `elsewhere` has the names of all settings that do not concern the store,
    and the names of tables with a dot at their end.
    Raise NeedsTomlParser when the text has an unknown name, a wrong value, or a form that only the parser of TOML understands.
    """
    address, wait = "", 0.0
    for name, at in setting_places(text):
        if name == "store" and not address:
            address = _address(text, at)
        elif name == "store_wait" and not wait:
            wait = _seconds(text, at)
        elif name not in elsewhere and not name.startswith(_KEYS):
            raise NeedsTomlParser
    return address or SQLITE, wait or WAIT


def _address(text: str, at: int) -> str:
    """Return the quoted address at index `at` of the text. Raise NeedsTomlParser if it is no store address or has a backslash."""
    quote = text[at : at + 1]
    address = text[at + 1 : text.find(quote, at + 1)] if quote in ('"', "'") else ""
    if "\\" in address or not address.isprintable() or not is_address(address):
        raise NeedsTomlParser
    return address


def _seconds(text: str, at: int) -> float:
    """Return the seconds that are written at index `at` of the text.

    Raise NeedsTomlParser unless they are a plain decimal number that the setting `store_wait` accepts.
    """
    number = text[at:].partition("\n")[0].partition("#")[0].strip(" \t")
    whole, point, fraction = number.partition(".")
    digits = (whole, fraction) if point else (whole,)
    is_plain = all(each.isascii() and each.isdigit() for each in digits) and (whole == "0" or whole[0] != "0")
    if not is_plain or not is_wait(float(number)):
        raise NeedsTomlParser
    return float(number)
