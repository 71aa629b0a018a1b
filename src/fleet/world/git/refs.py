"""Read branches and HEAD from the repository's files, without starting git and with few imports, for hot commands."""

from __future__ import annotations

import os

from fleet.model.branches import FOLLOWED_REF, HEADS, branch_in, head_ref
from fleet.world.git.pointers import open_regular

# The folders that git keeps in its entry of a worktree while a rebase is in progress there.
_REBASES = ("rebase-merge", "rebase-apply")
_LENGTHS = frozenset((40, 64))
_HEX = frozenset("0123456789abcdef")


def git_dir(repository: str) -> str:
    """Return the git directory of a repository; for a linked worktree, that of its repository.

    Raise OSError or UnicodeDecodeError when its `.git` file cannot be read. A path without `.git` is not an error.
    """
    own = f"{repository}/.git"
    if not os.path.lexists(own) and os.path.isdir(f"{repository}/objects"):
        return repository
    if not os.path.isfile(own):
        return own
    with open(own, encoding="utf-8") as pointer:
        entry = os.path.join(repository, pointer.read().removeprefix("gitdir:").strip())
    return os.path.realpath(f"{entry}/../..") if os.path.exists(f"{entry}/commondir") else entry


def branches(git_dir: str, names: tuple[str, ...]) -> dict[str, str] | None:
    """Return the commit of each named branch that exists, by name.

    None when the refs are stored in a form that only git can read.
    """
    if not os.path.isdir(f"{git_dir}/{HEADS}") or os.path.exists(f"{git_dir}/commondir"):
        return None  # its refs have another format, or are elsewhere
    try:
        loose = {name: _text_of_file(f"{git_dir}/{head_ref(name)}") for name in names}
        packed = (
            _packed(git_dir) if None in loose.values() else {}
        )  # read after the loose refs, because packing removes these last
    except (OSError, ValueError):
        return None
    known = {name: packed.get(head_ref(name)) if text is None else text for name, text in loose.items()}
    there = {name: commit.strip() for name, commit in known.items() if commit is not None}
    return there if all(map(_is_commit, there.values())) else None


def followed(git_dir: str) -> str:
    """Return the branch that the integration branch is based on; empty when none is recorded."""
    try:
        return branch_in((_text_of_file(f"{git_dir}/{FOLLOWED_REF}") or "").removeprefix("ref: ").strip())
    except (OSError, ValueError):
        return ""


def has_unlanded(git_dir: str, integration: str, target: str) -> bool:
    """Return whether merged work may wait to land: the integration branch exists and differs from its target.

    An empty `target` stands for the branch that `followed` returns. A target branch that does not exist differs, too.
    True when only git can read the branches.
    """
    target = target or followed(git_dir)
    tips = branches(git_dir, (integration, target)) if target else branches(git_dir, (integration,))
    return tips is None or (integration in tips and tips.get(target) != tips[integration])


def head_of(worktree: str) -> str | None:
    """Return the content of a linked worktree's HEAD: `ref: ` and a ref, or a commit; None when it cannot be read."""
    try:
        own = _worktree_entry(worktree)
        return None if own is None else (_text_of_file(f"{own}/HEAD") or "").strip() or None
    except (OSError, ValueError):
        return None


def rebased_branch(worktree: str) -> str:
    """Return the branch that is being rebased in a linked worktree; empty when no rebase is in progress."""
    try:
        own = _worktree_entry(worktree)
        told = [_text_of_file(f"{own}/{name}/head-name") for name in _REBASES] if own else []
    except (OSError, ValueError):
        return ""
    return branch_in(next(filter(None, told), "").strip())


def head_commit(worktree: str) -> str | None:
    """Return the commit of a linked worktree's HEAD.

    None when there is no worktree, no commit yet, or when the ref is stored in a form that only git can read.
    """
    try:
        own = _worktree_entry(worktree)
    except (OSError, ValueError):
        return None
    return None if own is None else commit_of_entry(own)


def commit_of_entry(own: str) -> str | None:
    """Return the commit of a linked worktree's HEAD. `own` is the folder of git's entry of the worktree.

    None when there is no commit yet, or when the ref is stored in a form that only git can read.
    """
    try:
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
    """Return when a linked worktree's HEAD last moved, as by a commit (milliseconds since 1970); None when unknown."""
    try:
        entry = _text_of_file(f"{worktree}/.git") or ""
        own = os.path.join(worktree, entry.removeprefix("gitdir:").strip())
        return (
            os.stat(os.path.join(own, "logs", "HEAD")).st_mtime_ns // 1_000_000 if entry.startswith("gitdir:") else None
        )
    except (OSError, ValueError):
        return None


def _worktree_entry(worktree: str) -> str | None:
    """Return git's entry of a linked worktree, according to its `.git` file; None when there is no such file."""
    told = _text_of_file(f"{worktree}/.git") or ""
    return os.path.join(worktree, told.removeprefix("gitdir:").strip()) if told.startswith("gitdir:") else None


def _is_commit(text: str) -> bool:
    return len(text) in _LENGTHS and _HEX.issuperset(text)


def _packed(git_dir: str) -> dict[str, str]:
    """Return the commits of all packed refs, by ref."""
    lines = (_text_of_file(f"{git_dir}/packed-refs") or "").splitlines()
    pairs = (line.split(" ", 1) for line in lines if line[:1] not in {"#", "^"})
    return {name: commit for commit, name in pairs}


def _text_of_file(path: str) -> str | None:
    """Return a file's content; None when there is no such file."""
    try:
        with open(open_regular(path), encoding="utf-8") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
