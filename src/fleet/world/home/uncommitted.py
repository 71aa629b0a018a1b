"""The uncommitted work of a task's worktree, but for the files that git called changed before anybody worked in it."""

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
    """Return the files of a task's worktree that its agent changed and did not commit; None when git does not say.

    What git ignores does not count, nor what was changed before anybody worked there. Costs one `git status`.
    """
    files = refs.uncommitted(f"{home}/{paths.worktree(project.name, slug)}", project.path, funnel)
    if files is None:
        return None
    before = _changed_before(home, project.name, slug)
    return [name for code, name in files if f"{code} {name}" not in before]


def changed_files(home: str, project: Project, slug: str, funnel: Funnel) -> bytes | None:
    """Return what to note of a new worktree: the files that git calls changed, as JSON; None when git does not say."""
    files = refs.uncommitted(f"{home}/{paths.worktree(project.name, slug)}", project.path, funnel)
    return None if files is None else f"{jsontext.dumps([f'{code} {name}' for code, name in files])}\n".encode()


def first_files(files: list[str]) -> str:
    """Return the names of the first files on one line, and how many more there are."""
    names = [name.encode("utf-8", "replace").decode() for name in files[:_SHOWN]]
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return ", ".join(" ".join(name.split()) for name in names) + more


def describe_forgotten(slug: str, files: list[str]) -> str:
    """Say that the work of a task was not committed, for people and for the agent that mends it."""
    work = f"its worktree has uncommitted work: {first_files(files)}"
    return f"nothing new is committed on {task_branch(slug)}, but {work}"


def _changed_before(home: str, project: str, slug: str) -> frozenset[str]:
    """Return git's letters and the name of each file that was noted; none when the note is missing or damaged."""
    try:
        with open(f"{home}/{paths.changed_before(project, slug)}", encoding="utf-8") as file:
            names = jsontext.loads(file.read().strip())
    except (OSError, ValueError, StopIteration):
        return frozenset()
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()
