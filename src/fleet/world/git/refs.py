"""What the hot commands ask of git, with few imports.

Branches and HEAD are read from the repository's files without starting git. Only the uncommitted work needs one `git status`.
"""

from __future__ import annotations

import os
from time import monotonic

from fleet.model.agents.actors import TOKEN
from fleet.model.branches import FOLLOWED_REF, HEADS, branch_in, head_ref
from fleet.world.git import pointers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.world.funnel import Funnel

# How many seconds a `git status` may take; after that nothing is known.
STATUS_LIMIT = 60.0
# No watcher or hook of the user's configuration runs, and the index is not locked.
_STATUS = ("--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "status")
_ALL = ("--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=dirty", "--no-renames")
_SIGKILL = 9
# What git leaves in a worktree's own directory while a rebase waits there.
_REBASES = ("rebase-merge", "rebase-apply")
_LENGTHS = frozenset((40, 64))
_HEX = frozenset("0123456789abcdef")


def git_dir(repository: str) -> str:
    """Return the git directory of a repository; for a linked worktree, that of its repository."""
    own = f"{repository}/.git"
    if not os.path.lexists(own) and os.path.isdir(f"{repository}/objects"):
        return repository
    if not os.path.isfile(own):
        return own
    with open(own, encoding="utf-8") as pointer:
        entry = os.path.join(repository, pointer.read().removeprefix("gitdir:").strip())
    return os.path.realpath(f"{entry}/../..") if os.path.exists(f"{entry}/commondir") else entry


def branches(git_dir: str, names: tuple[str, ...]) -> dict[str, str] | None:
    """Return the commits of those named branches that exist, by name; None where only git can tell."""
    if not os.path.isdir(f"{git_dir}/{HEADS}") or os.path.exists(f"{git_dir}/commondir"):
        return None  # its refs are kept in another way, or elsewhere
    try:
        loose = {name: _text_of_file(f"{git_dir}/{head_ref(name)}") for name in names}
        packed = _packed(git_dir) if None in loose.values() else {}  # after the loose ones: packing removes those last
    except (OSError, ValueError):
        return None
    known = {name: packed.get(head_ref(name)) if text is None else text for name, text in loose.items()}
    there = {name: commit.strip() for name, commit in known.items() if commit is not None}
    return there if all(map(_is_commit, there.values())) else None


def followed(git_dir: str) -> str:
    """Return the branch that the integration branch is based on; empty when none is stored."""
    try:
        return branch_in((_text_of_file(f"{git_dir}/{FOLLOWED_REF}") or "").removeprefix("ref: ").strip())
    except (OSError, ValueError):
        return ""


def has_unlanded(git_dir: str, integration: str, target: str) -> bool:
    """Whether work may wait to land: the integration branch exists, and is not where its target is.

    Without a name, the target is the branch that was kept. True where only git can tell.
    """
    target = target or followed(git_dir)
    tips = branches(git_dir, (integration, target)) if target else branches(git_dir, (integration,))
    return tips is None or (integration in tips and tips.get(target) != tips[integration])


def head_of(worktree: str) -> str | None:
    """Return what a linked worktree's HEAD says: `ref: ` and a ref, or a commit; None when it cannot be read."""
    try:
        own = _worktree_entry(worktree)
        return None if own is None else (_text_of_file(f"{own}/HEAD") or "").strip() or None
    except (OSError, ValueError):
        return None


def rebased_branch(worktree: str) -> str:
    """Return the branch that a linked worktree returns to after the rebase in progress there; empty when there is none."""
    try:
        own = _worktree_entry(worktree)
        told = [_text_of_file(f"{own}/{name}/head-name") for name in _REBASES] if own else []
    except (OSError, ValueError):
        return ""
    return branch_in(next(filter(None, told), "").strip())


def head_commit(worktree: str) -> str | None:
    """Return the commit of a linked worktree's HEAD; None when there is no worktree, or only git can tell."""
    try:
        own = _worktree_entry(worktree)
        if own is None:
            return None
        head = (_text_of_file(f"{own}/HEAD") or "").strip()
        if head.startswith("ref:"):
            ref = head.removeprefix("ref:").strip()
            common = os.path.join(own, (_text_of_file(f"{own}/commondir") or ".").strip())
            loose = _text_of_file(f"{common}/{ref}")
            head = (_packed(common).get(ref, "") if loose is None else loose).strip()
    except (OSError, ValueError):
        return None
    return head if _is_commit(head) else None


def head_moved_at(worktree: str) -> int | None:
    """Return when HEAD of a linked worktree last moved, as by a commit, in milliseconds; None when that is unknown."""
    try:
        entry = _text_of_file(f"{worktree}/.git") or ""
        own = os.path.join(worktree, entry.removeprefix("gitdir:").strip())
        return (
            os.stat(os.path.join(own, "logs", "HEAD")).st_mtime_ns // 1_000_000 if entry.startswith("gitdir:") else None
        )
    except (OSError, ValueError):
        return None


def _worktree_entry(worktree: str) -> str | None:
    """Return git's entry of a linked worktree, as its `.git` file says; None when there is no such file."""
    told = _text_of_file(f"{worktree}/.git") or ""
    return os.path.join(worktree, told.removeprefix("gitdir:").strip()) if told.startswith("gitdir:") else None


def _is_commit(text: str) -> bool:
    return len(text) in _LENGTHS and _HEX.issuperset(text)


def _packed(git_dir: str) -> dict[str, str]:
    lines = (_text_of_file(f"{git_dir}/packed-refs") or "").splitlines()
    pairs = (line.split(" ", 1) for line in lines if line[:1] not in {"#", "^"})
    return {name: commit for commit, name in pairs}


def _text_of_file(path: str) -> str | None:
    """Return a file's content; None when there is no such file."""
    try:
        with open(pointers.open_regular(path), encoding="utf-8") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


# uncommitted work -----------------------------------------------------------------------------------------------------
def uncommitted(worktree: str, repository: str, funnel: Funnel) -> list[tuple[str, str]] | None:
    """Return the uncommitted files of a repository's worktree, each with git's two letters; None when git does not say.

    What git ignores is not among them. A worktree whose `.git` was made anew is not asked: its configuration may run
    commands.
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
    """Run git on the repository of this git directory; return what it prints. None when git is not installed, fails, or takes too long."""
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
        said = _read_all(reader, monotonic() + STATUS_LIMIT)
    finally:
        os.close(reader)
    if said is None:
        os.kill(pid, _SIGKILL)
    _pid, status = os.waitpid(pid, 0)
    return said.decode("utf-8", "surrogateescape") if said is not None and status == 0 else None


def _read_all(reader: int, until: float) -> bytes | None:
    """Read a pipe to its end; None when that takes too long."""
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
    """Return the environment without what a git hook leaves in it (it names another repository or index) and secrets."""
    return {
        name: text
        for name, text in given.items()
        if name != TOKEN and (not name.startswith("GIT_") or name.startswith("GIT_CONFIG"))
    }
