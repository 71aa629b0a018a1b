"""What a person has trusted: one file a project in the home, with the values of the guarded settings."""

from __future__ import annotations

from fleet.world.home import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def trusted_values(home: str, project: str, repository: str) -> dict[str, Any]:
    """What was trusted for this repository under this name; nothing when there is no readable file, or for another one."""
    try:
        with open(f"{home}/{paths.trust(project)}", encoding="utf-8") as file:
            import json

            kept = json.load(file)
        return dict(kept["values"]) if kept["repository"] == repository else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}
