"""Write settings into a project's fleet.toml. Other lines and comments stay as they are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.settings import document
from fleet.model.settings.edit import with_value
from fleet.model.settings.table import PROJECT_FILE
from fleet.world.files.user_file import write
from fleet.world.home.settings_file import text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.verbs.context import Context


def configure(context: Context, project: str, wanted: Mapping[str, str | list[str]]) -> list[str]:
    """Write settings into the project's fleet.toml. Returns the names of those that changed.

    The file is made if it is missing. Raises BadSetting, and writes nothing, when the file cannot be read, or cannot
    take a value, for example because of the way in which the file is written.
    """
    path = f"{context.project(project).path}/{PROJECT_FILE}"
    before = text_of(path) if os.path.lexists(path) else ""
    present = {name: value.value for name, value in document.read(path, before, PROJECT_FILE).items()}
    changed = [name for name, value in wanted.items() if present.get(name) != value]
    after = before
    for name in changed:
        after = with_value(after, name, wanted[name])
    written = {name: value.value for name, value in document.read(path, after, PROJECT_FILE).items()}
    if written != present | dict(wanted):
        raise errors.BadSetting(
            file=path, line=1, why=f"{', '.join(changed)} cannot be written into it", advice="write it by hand"
        )
    if changed:
        write(context.world.funnel, path, [after])
    return changed
