"""What a person has trusted: one file a project in the home, with the values of the guarded settings."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def file_of(project: str) -> str:
    """The file of a project, below the home."""
    return f"trust/{project}.json"


def trusted_values(home: str, project: str, repository: str) -> dict[str, Any]:
    """What was trusted for this repository under this name; nothing when there is no readable file, or for another one."""
    try:
        with open(f"{home}/{file_of(project)}", encoding="utf-8") as file:
            import json

            kept = json.load(file)
        return dict(kept["values"]) if kept["repository"] == repository else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}
