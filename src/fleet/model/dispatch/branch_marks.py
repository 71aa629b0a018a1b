"""The mark of a task's branch: which home and which project made it, its own name, and the commit that it began at.

A project that is removed and registered again is another project, although it has the same name. A copy of a branch has a copy of
its mark, which names another branch. The branch of a claim from before there were marks is marked later; its mark says also when
the branch was made, because its reflog does not name fleet.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.queries import Project

_BASE, _BIRTH = 3, 4  # home, project, branch, commit, time


def mark_of(home_id: str, project: Project, branch: str) -> str:
    """Return how the mark of a project's branch begins."""
    return f"{home_id} {project.name}.{project.added_at} {branch} "


def base_in(mark: str) -> str:
    """Return the commit that a marked branch began at; empty when the mark does not say."""
    parts = mark.split()
    return parts[_BASE] if len(parts) in {_BASE + 1, _BIRTH + 1} else ""


def birth_in(mark: str) -> str:
    """Return when a branch was made that was marked later; empty when the mark does not say."""
    parts = mark.split()
    return parts[_BIRTH] if len(parts) == _BIRTH + 1 else ""
