"""Write which settings of config.toml do not concern the store, from the table of settings, as fleet/model/settings/other_settings.py."""

from __future__ import annotations

from pathlib import Path

from fleet.model.settings.setting_names import HOME_FILE
from fleet.model.settings.table import SETTINGS

PAGE = Path("src/fleet/model/settings/other_settings.py")
# A table with keys of its own.
KEYS = "keys"
OF_STORE = ("store", "store_wait")
_HEAD = '''"""The settings of config.toml that do not concern the store, and the tables (with a dot) they are in. Written by `make hot`."""

from __future__ import annotations

ELSEWHERE = frozenset(
    (
'''


def others() -> list[str]:
    """Return the names of the settings of config.toml except those of the store and the table of keys."""
    names = [each.name for each in SETTINGS if each.file == HOME_FILE]
    return [name for name in names if name not in OF_STORE and name != KEYS]


def text_of_others() -> str:
    """Return the text of other_settings.py."""
    tables = {f"{name.partition('.')[0]}." for name in others() if "." in name}
    return "".join([_HEAD, *(f'        "{name}",\n' for name in sorted({*others(), *tables})), "    )\n)\n"])
