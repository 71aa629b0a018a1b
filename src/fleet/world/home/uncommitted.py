"""The uncommitted work in a task's worktree, without files that git reported as changed before anybody worked in it."""

from __future__ import annotations

import os
from time import monotonic

from fleet.model.agents.actors import TOKEN
from fleet.model.branches import task_branch
from fleet.model.text import jsontext
from fleet.world.git import pointers
from fleet.world.git.refs import git_dir
from fleet.world.home import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from fleet.world.funnel import Funnel

    class NamedRepository(Protocol):
        """A project's name, and the path of its repository."""

        @property
        def name(self) -> str: ...
        @property
        def path(self) -> str: ...


_SHOWN = 5
# How many seconds a `git status` may take; after that nothing is known.
_STATUS_LIMIT = 60.0
# No watcher or hook of the user's configuration runs, and the index is not locked.
_STATUS = ("--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "status")
_ALL = ("--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=dirty", "--no-renames")
_SIGKILL = 9


def uncommitted_work(home: str, project: NamedRepository, slug: str, funnel: Funnel) -> list[str] | None:
    """Return the files that an agent changed in its task's worktree and did not commit; None when git fails.

    Ignored files do not count; nor do files that git called changed before anybody worked there and that it still
    reports with the same status. Runs `git status` once. None also when the worktree's `.git` was replaced.
    """
    files = _files_of_git(f"{home}/{paths.worktree(project.name, slug)}", project.path, funnel)
    if files is None:
        return None
    before = _changed_before(home, project.name, slug)
    return [name for code, name in files if f"{code} {name}" not in before]


def changed_files(home: str, project: NamedRepository, slug: str, funnel: Funnel) -> bytes | None:
    """Return the files that git reports as changed in a new worktree, as JSON for the file `paths.changed_before`.

    None when git fails.
    """
    files = _files_of_git(f"{home}/{paths.worktree(project.name, slug)}", project.path, funnel)
    return None if files is None else f"{jsontext.dumps([f'{code} {name}' for code, name in files])}\n".encode()


def first_files(files: list[str]) -> str:
    """Return the names of the first five files in one line, then how many more there are, for people."""
    names = [name.encode("utf-8", "replace").decode() for name in files[:_SHOWN]]
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return ", ".join(" ".join(name.split()) for name in names) + more


def describe_forgotten(slug: str, files: list[str]) -> str:
    """Return a text that says that a task's branch has nothing new, but its worktree has the uncommitted `files`.

    People read it, and the agent that is to commit the files. It names the first of them.
    """
    work = f"its worktree has uncommitted work: {first_files(files)}"
    return f"nothing new is committed on {task_branch(slug)}, but {work}"


def _changed_before(home: str, project: str, slug: str) -> frozenset[str]:
    """Return "STATUS NAME" of each file that was recorded as changed; empty when the record cannot be read."""
    try:
        with open(f"{home}/{paths.changed_before(project, slug)}", encoding="utf-8") as file:
            names = jsontext.loads(file.read().strip())
    except (OSError, ValueError, StopIteration):
        return frozenset()
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()


# what git says --------------------------------------------------------------------------------------------------------
def _files_of_git(worktree: str, repository: str, funnel: Funnel) -> list[tuple[str, str]] | None:
    """Return the uncommitted files of a worktree, each with git's two status letters; None when git fails.

    Ignored files are not among them. git is not run in a worktree whose `.git` was replaced, because its configuration
    may run commands.
    """
    try:
        own = os.path.realpath(git_dir(repository))
    except (OSError, UnicodeDecodeError):
        return None
    place = pointers.read(worktree, lambda common: common == own)
    if place is None:
        return None
    where = ["-C", worktree, f"--git-dir={place.entry}", f"--work-tree={worktree}"]
    said = funnel.through("git status", lambda: _git_output(["git", *where, *_STATUS, *_ALL], place.common))
    return None if said is None else [(entry[:2], entry[3:]) for entry in said.split("\0") if entry]


def _git_output(words: list[str], common: str) -> str | None:
    """Run git and return its output; None when git is not installed, fails, or takes too long.

    `common` is the git directory of the repository.
    """
    reader, writer = os.pipe()
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, writer, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
    try:
        pid = os.posix_spawnp(
            words[0], words, {**_own_environment(os.environ), "GIT_COMMON_DIR": common}, file_actions=actions
        )
    except OSError:
        os.close(reader)
        return None
    finally:
        os.close(writer)
        os.close(null)
    try:
        said = _read_all(reader, monotonic() + _STATUS_LIMIT)
    finally:
        os.close(reader)
    if said is None:
        os.kill(pid, _SIGKILL)
    _pid, status = os.waitpid(pid, 0)
    return said.decode("utf-8", "surrogateescape") if said is not None and status == 0 else None


def _read_all(reader: int, until: float) -> bytes | None:
    """Return what a pipe contains up to its end; None when the end does not come before the monotonic time `until`."""
    import select  # noqa: PLC0415 - where git has to be asked after all

    waiting = select.poll()
    parts: list[bytes] = []
    waiting.register(reader, select.POLLIN)
    while waiting.poll(max(until - monotonic(), 0) * 1000):
        part = os.read(reader, 65_536)
        if not part:
            return b"".join(parts)
        parts.append(part)
    return None


def _own_environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without the agent's token and without the variables of a git hook.

    A hook's variables name another repository or index. GIT_CONFIG variables stay.
    """
    return {
        name: text
        for name, text in given.items()
        if name != TOKEN and (not name.startswith("GIT_") or name.startswith("GIT_CONFIG"))
    }
