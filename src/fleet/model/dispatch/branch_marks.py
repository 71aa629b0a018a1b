"""The mark of a task's branch: the home and the project that created the branch, its name, and its first commit.

A project that is removed and registered again counts as another project, although it has the same name. A copied branch
also copies the mark, but the mark names the original branch. A branch that was created before marks existed is marked
later. Such a mark also holds the time when the branch was created, because the branch's reflog does not name fleet.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.queries import Project

_BASE, _BIRTH = 3, 4  # positions in a mark: home, project, branch, commit, time


def mark_of(home_id: str, project: Project, branch: str) -> str:
    """Return the mark for a project's branch without its last part, the first commit, which the caller appends."""
    return f"{home_id} {project.name}.{project.added_at} {branch} "


def base_in(mark: str) -> str:
    """Return the first commit of a branch from its mark; empty when the mark has no commit."""
    parts = mark.split()
    return parts[_BASE] if len(parts) in {_BASE + 1, _BIRTH + 1} else ""


def birth_in(mark: str) -> str:
    """Return the time at which a branch was created, from its mark; empty when the mark has no time.

    Only the mark of a branch that existed before it was marked has a time.
    """
    parts = mark.split()
    return parts[_BIRTH] if len(parts) == _BIRTH + 1 else ""
