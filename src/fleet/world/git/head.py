"""The commit that a linked worktree is at, read from git's files: an agent's report names it, and may not cost a process."""

from __future__ import annotations

_SHORTEST = 40
_HEX = frozenset("0123456789abcdef")


def head_commit(worktree: str) -> str | None:
    """Return the commit of a linked worktree's HEAD; None when there is no worktree, or only git can tell."""
    entry = _text(f"{worktree}/.git")
    if entry is None or not entry.startswith("gitdir:"):
        return None
    own = _beside(worktree, entry.removeprefix("gitdir:").strip())
    head = _text(f"{own}/HEAD")
    if head is None:
        return None
    if not head.startswith("ref:"):
        return _commit(head)
    common = _beside(own, _text(f"{own}/commondir") or ".")
    return _branch_commit(common, head.removeprefix("ref:").strip())


def _branch_commit(common: str, ref: str) -> str | None:
    loose = _text(f"{common}/{ref}")
    if loose is not None:
        return _commit(loose)
    for line in (_text(f"{common}/packed-refs") or "").splitlines():
        commit, _, name = line.partition(" ")
        if name == ref:
            return _commit(commit)
    return None


def _commit(text: str) -> str | None:
    return text if len(text) >= _SHORTEST and _HEX.issuperset(text) else None


def _beside(folder: str, path: str) -> str:
    return path if path.startswith("/") else f"{folder}/{path}"


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None
