"""Write the class SettingValues, with the type of each setting, from the table of settings, as fleet/model/settings/values.py."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fleet.model.settings.snapshot import attribute_of
from fleet.model.settings.table import SETTINGS

if TYPE_CHECKING:
    from typing import Any

    from fleet.model.settings.table import Setting

PAGE = Path("src/fleet/model/settings/values.py")
_HEAD = '''"""The values of all settings, with their types. Written by `make hot` from the table of settings. Do not edit."""

from __future__ import annotations

from fleet.model.settings.snapshot import SettingsSnapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


class SettingValues(SettingsSnapshot):
    """The value of each setting that is in force. A command that no person has trusted yet raises NotTrusted when it is read."""

    __slots__ = (
'''
_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "dict[str, object]"}


def text_of_values() -> str:
    """Return the text of values.py."""
    slots = sorted(attribute_of(each.name) for each in SETTINGS)
    return "".join(
        (
            _HEAD,
            *(f'        "{name}",\n' for name in slots),
            "    )\n\n    if TYPE_CHECKING:\n",
            *(f"        {attribute_of(each.name)}: {type_of_setting(each)}\n" for each in SETTINGS),
        )
    )


def type_of_setting(setting: Setting) -> str:
    """Return the type of a setting's values, None among them when it need not be set."""
    return _type_of(setting.kind.schema) + (" | None" if setting.default is None else "")


def _type_of(schema: dict[str, Any]) -> str:
    """Return the type of the values that a JSON Schema describes."""
    if "enum" in schema:
        return "Literal[" + ", ".join(f'"{word}"' for word in schema["enum"]) + "]"
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " | ".join(f"list[{_type_of(schema['items'])}]" if kind == "array" else _PLAIN[kind] for kind in kinds)
