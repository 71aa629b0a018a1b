"""The mark of a task's branch: which home and which project made it, and the commit that it began at.

A project that is removed and registered again is another project, although it has the same name.
"""

from __future__ import annotations

from typing import Any


def mark_of(home_id: str, project: dict[str, Any]) -> str:
    """Return how the marks of one project's branches begin."""
    return f"{home_id} {project['name']}.{project['added_at']} "


def base_in(mark: str) -> str:
    """Return the commit that a marked branch began at; empty when the mark does not say."""
    parts = mark.split()
    return parts[-1] if len(parts) == 3 else ""  # noqa: PLR2004 - home, project, commit
