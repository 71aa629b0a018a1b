"""Settings: which there are, what they may be, and what they are when nobody says.

`config.toml` in the fleet home holds those of the operator, `fleet.toml` in a repository those of the project.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fleet.errors import BadSetting, BadTime
from fleet.model.moments import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HOME_FILE = "config.toml"
PROJECT_FILE = "fleet.toml"
_LONGEST_WAIT = 3_600
_PRIORITIES = range(-1_000, 1_001)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting."""

    name: str
    file: str
    default: Any
    expects: str
    accepts: Callable[[Any], bool]
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """What a setting is, and where that was said."""

    name: str
    value: Any
    source: str
    help: str


def _is_store(value: object) -> bool:
    return value == "sqlite" or (isinstance(value, str) and value.startswith(("postgresql://", "postgres://")))


def _is_seconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= _LONGEST_WAIT


def _is_priority(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in _PRIORITIES


def _is_line(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\n" not in value


def _is_duration(value: object) -> bool:
    try:
        return isinstance(value, str) and duration(value) > 0
    except BadTime:
        return False


SETTINGS = (
    Setting(
        name="store",
        file=HOME_FILE,
        default="sqlite",
        expects='"sqlite" or "postgresql://…"',
        accepts=_is_store,
        help="where everything is kept",
    ),
    Setting(
        name="store_wait",
        file=HOME_FILE,
        default=30.0,
        expects=f"seconds, more than 0 and at most {_LONGEST_WAIT}",
        accepts=_is_seconds,
        help="how long to wait for the turn to write",
    ),
    Setting(
        name="keep_operations",
        file=HOME_FILE,
        default="90d",
        expects='a duration like "90d"',
        accepts=_is_duration,
        help="the age at which `fleet maintenance rotate-operations` archives operations",
    ),
    Setting(
        name="task.verify",
        file=PROJECT_FILE,
        default=None,
        expects="a command on one line",
        accepts=_is_line,
        help="the verify command of new tasks",
    ),
    Setting(
        name="task.engine",
        file=PROJECT_FILE,
        default=None,
        expects="an engine's name",
        accepts=_is_line,
        help="the engine of new tasks",
    ),
    Setting(
        name="task.priority",
        file=PROJECT_FILE,
        default=0,
        expects="a whole number from -1000 to 1000",
        accepts=_is_priority,
        help="the priority of new tasks; higher goes first",
    ),
    Setting(
        name="task.archive_after",
        file=PROJECT_FILE,
        default="7d",
        expects='a duration like "7d"',
        accepts=_is_duration,
        help="the age at which `fleet task archive --ended` archives ended tasks",
    ),
)


def read(path: str, text: str, file: str) -> dict[str, Value]:
    """The settings that a file gives, each checked."""
    found = {}
    for name, value in _flat(_parsed(path, text)):
        setting = _known(path, text, name, file)
        line = _line_of(text, name)
        if not setting.accepts(value):
            why = f"{name} is {value!r}, but should be {setting.expects}"
            raise BadSetting(file=path, line=line, why=why, advice=setting.help)
        found[name] = Value(name=name, value=value, source=f"{path}:{line}", help=setting.help)
    return found


def merged(*given: dict[str, Value]) -> dict[str, Value]:
    """Every setting, from the files that say it or by default."""
    values = {
        each.name: Value(name=each.name, value=each.default, source="default", help=each.help) for each in SETTINGS
    }
    for each in given:
        values |= each
    return values


def _parsed(path: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at line (\d+)", str(error))
        line = int(where[1]) if where else text.count("\n") + 1
        why = re.sub(r" \(at .*\)$", "", str(error))
        raise BadSetting(file=path, line=line, why=why, advice="see https://toml.io for the syntax") from None


def _flat(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


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
    """The line that sets a key. tomllib does not tell, so look for it: the table's head, then the key."""
    table, _, key = name.rpartition(".")
    here = ""
    for number, line in enumerate(text.splitlines(), 1):
        head = re.match(r"\s*\[\s*([\w.\-\"' ]+?)\s*\]", line)
        if head:
            here = head[1].replace('"', "").replace("'", "").replace(" ", "")
            continue
        said = re.match(r"\s*([\w.\-\"' ]+?)\s*=", line)
        full = f"{here}.{said[1]}".strip(".").replace('"', "").replace("'", "") if said else ""
        if full == name or (said and here == table and said[1] == key):
            return number
    return 1
