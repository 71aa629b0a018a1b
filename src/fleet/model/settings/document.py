"""Settings as a file writes them: parsed, checked, each error with its line."""

from __future__ import annotations

import difflib
import re
import tomllib
from typing import TYPE_CHECKING, Any

from fleet.errors.given import BadSetting
from fleet.model.settings.table import SETTINGS, Setting, SettingValue
from fleet.model.text import secrets

if TYPE_CHECKING:
    from collections.abc import Iterator


def read(path: str, text: str, file: str) -> dict[str, SettingValue]:
    """The settings that a file gives, each checked."""
    found = {}
    for name, value in _parsed(path, text):
        setting = _known(path, text, name, file)
        line = _line_of(text, name)
        if not setting.accepts(value):
            why = f"{name} is {_shown(value)!r}, but should be {setting.expects}"
            raise BadSetting(file=path, line=line, why=why, advice=setting.help)
        found[name] = SettingValue(name=name, value=value, source=f"{path}:{line}", help=setting.help)
    return found


def _shown(value: Any) -> Any:  # noqa: ANN401
    """A value as an error may show it: a database's address may hold a password."""
    return secrets.address(value) if isinstance(value, str) and "://" in value else value


def _parsed(path: str, text: str) -> list[tuple[str, Any]]:
    try:
        return list(_flat(tomllib.loads(text)))
    except RecursionError:
        raise _too_deep(path, text) from None
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at line (\d+)", str(error))
        line = int(where[1]) if where else text.count("\n") + 1
        why = re.sub(r" \(at .*\)$", "", str(error))
        raise BadSetting(file=path, line=line, why=why, advice="see https://toml.io for the syntax") from None


def _too_deep(path: str, text: str) -> BadSetting:
    """TOML that is nested deeper than Python reads; its line is the one with the most brackets and dots."""
    weights = [sum(line.count(sign) for sign in "[{.") for line in text.split("\n")]
    line = weights.index(max(weights)) + 1
    return BadSetting(file=path, line=line, why="it is nested too deep", advice="no setting is nested")


def _flat(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict) and (value or _is_table(f"{prefix}{key}.")):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _is_table(prefix: str) -> bool:
    return any(setting.name.startswith(prefix) for setting in SETTINGS)


def _known(path: str, text: str, name: str, file: str) -> Setting:
    for setting in SETTINGS:
        if setting.name == name and setting.file == file:
            return setting
    elsewhere = [setting.file for setting in SETTINGS if setting.name == name]
    near = difflib.get_close_matches(name, [each.name for each in SETTINGS if each.file == file], n=1, cutoff=0.5)
    advice = f"did you mean {near[0]!r}?" if near else "`fleet config show` lists all settings"
    if elsewhere:
        advice = f"it belongs into {elsewhere[0]}"
    raise BadSetting(file=path, line=_line_of(text, name), why=f"unknown setting {name!r}", advice=advice)


def _line_of(text: str, name: str) -> int:
    """The line that sets a key. tomllib does not tell, so look for it: the table's head, then the key, alone or inline."""
    here = ""
    for number, line in enumerate(text.splitlines(), 1):
        head = re.match(r"\s*\[\[?\s*([\w.\-\"' ]+?)\s*\]", line)
        said = re.match(r"\s*([\w.\-\"' ]+?)\s*=", line)
        if head:
            here = _plain(head[1])
        full = here if head else f"{here}.{_plain(said[1])}".strip(".") if said else ""
        if full == name or (said and not head and name.startswith(f"{full}.")):
            return number
    return 1


def _plain(key: str) -> str:
    return key.replace('"', "").replace("'", "").replace(" ", "")
