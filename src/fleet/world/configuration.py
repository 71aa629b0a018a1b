"""The files that hold settings. Reading TOML is loaded only when there is a file to read."""

from __future__ import annotations

import os

from fleet.model.settings import HOME_FILE, PROJECT_FILE, Value, merged


def settings_of(home: str, repository: str | None) -> dict[str, Value]:
    """Every setting: from config.toml, from a repository's fleet.toml, or by default."""
    files = [(f"{home}/{HOME_FILE}", HOME_FILE)]
    if repository is not None:
        files.append((f"{repository}/{PROJECT_FILE}", PROJECT_FILE))
    there = [(path, file) for path, file in files if os.path.lexists(path)]
    if not there:
        return merged()
    from fleet.world.settings_file import read_file

    return merged(*(read_file(path, file) for path, file in there))
