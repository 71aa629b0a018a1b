"""Read which guarded settings of a repository a person has trusted; the home has one file a project."""

from __future__ import annotations

from fleet.world.home import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def trusted_values(home: str, project: str, repository: str) -> dict[str, Any]:
    """Return the values that a person has trusted in a repository's settings, by name.

    {} when none are recorded for this project and the path `repository`, or the record cannot be read.
    """
    try:
        with open(f"{home}/{paths.trust(project)}", encoding="utf-8") as file:
            import json

            kept = json.load(file)
        return dict(kept["values"]) if kept["repository"] == repository else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}
