"""The uncommitted work in a task's worktree, without files that git reported as changed before anybody worked in it."""

from __future__ import annotations

from fleet.model.branches import task_branch
from fleet.model.text import jsontext
from fleet.world.git import refs
from fleet.world.home import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from fleet.world.funnel import Funnel

    class Project(Protocol):
        """A project's name, and the path of its repository."""

        @property
        def name(self) -> str: ...
        @property
        def path(self) -> str: ...


_SHOWN = 5


def uncommitted_work(home: str, project: Project, slug: str, funnel: Funnel) -> list[str] | None:
    """Return the files that an agent changed in its task's worktree and did not commit; None when git fails.

    Ignored files do not count, nor files that were changed before anybody worked there. Runs `git status` once.
    """
    files = refs.uncommitted(f"{home}/{paths.worktree(project.name, slug)}", project.path, funnel)
    if files is None:
        return None
    before = _changed_before(home, project.name, slug)
    return [name for code, name in files if f"{code} {name}" not in before]


def changed_files(home: str, project: Project, slug: str, funnel: Funnel) -> bytes | None:
    """Return the files that git reports as changed in a new worktree, as JSON to be recorded; None when git fails."""
    files = refs.uncommitted(f"{home}/{paths.worktree(project.name, slug)}", project.path, funnel)
    return None if files is None else f"{jsontext.dumps([f'{code} {name}' for code, name in files])}\n".encode()


def first_files(files: list[str]) -> str:
    """Return the names of the first files in one line, then how many more there are."""
    names = [name.encode("utf-8", "replace").decode() for name in files[:_SHOWN]]
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return ", ".join(" ".join(name.split()) for name in names) + more


def describe_forgotten(slug: str, files: list[str]) -> str:
    """Return a text that says that the work of a task was not committed, for people and for the agent that mends it."""
    work = f"its worktree has uncommitted work: {first_files(files)}"
    return f"nothing new is committed on {task_branch(slug)}, but {work}"


def _changed_before(home: str, project: str, slug: str) -> frozenset[str]:
    """Return status letters and name of each file that was recorded as changed; empty when the record is missing."""
    try:
        with open(f"{home}/{paths.changed_before(project, slug)}", encoding="utf-8") as file:
            names = jsontext.loads(file.read().strip())
    except (OSError, ValueError, StopIteration):
        return frozenset()
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()
