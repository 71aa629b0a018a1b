"""Read the settings files of a home and a repository. The parser of TOML is loaded only when there is a file."""

from __future__ import annotations

import os

from fleet.model.settings.setting_names import HOME_FILE
from fleet.model.settings.table import PROJECT_FILE, SettingValue, merged


def settings_of(home: str, repository: str | None) -> dict[str, SettingValue]:
    """Return every setting, by name: as the settings files say, or its default.

    The files are config.toml of the home and fleet.toml of the repository (None: no repository). Raise BadSetting when
    one of them is not valid.
    """
    files = [(f"{home}/{HOME_FILE}", HOME_FILE)]
    if repository is not None:
        files.append((f"{repository}/{PROJECT_FILE}", PROJECT_FILE))
    there = [(path, file) for path, file in files if os.path.lexists(path)]
    if not there:
        return merged()
    from fleet.world.home.settings_file import read_file

    return merged(*(read_file(path, file) for path, file in there))


def trusted_settings(home: str, project: str, repository: str) -> dict[str, SettingValue]:
    """Return every setting as it takes effect: guarded values of a repository only if a person has trusted them.

    With the setting `trust = "always"`, all values take effect. Raise BadSetting when a settings file is not valid.
    """
    from fleet.model.settings.trust import settings_in_force
    from fleet.world.home.trust import trusted_values

    written = settings_of(home, repository)
    return (
        written
        if written["trust"].value == "always"
        else settings_in_force(written, trusted_values(home, project, repository))
    )
