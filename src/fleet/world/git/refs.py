"""Branches and HEAD, read from the repository's files without starting git, for the hot commands."""

from __future__ import annotations

import os

from fleet.model.branches import HEADS, head_ref

_LENGTHS = frozenset((40, 64))
_HEX = frozenset("0123456789abcdef")


def branches(git_dir: str, names: tuple[str, ...]) -> dict[str, str] | None:
    """Return the commits of those named branches that exist, by name; None where only git can tell."""
    if not os.path.isdir(f"{git_dir}/{HEADS}") or os.path.exists(f"{git_dir}/commondir"):
        return None  # its refs are kept in another way, or elsewhere
    try:
        loose = {name: _text(f"{git_dir}/{head_ref(name)}") for name in names}
        packed = _packed(git_dir) if None in loose.values() else {}  # after the loose ones: packing removes those last
    except (OSError, ValueError):
        return None
    known = {name: packed.get(head_ref(name)) if text is None else text for name, text in loose.items()}
    there = {name: commit.strip() for name, commit in known.items() if commit is not None}
    return there if all(map(_is_commit, there.values())) else None


def head_commit(worktree: str) -> str | None:
    """Return the commit of a linked worktree's HEAD; None when there is no worktree, or only git can tell."""
    try:
        entry = _text(f"{worktree}/.git") or ""
        if not entry.startswith("gitdir:"):
            return None
        own = os.path.join(worktree, entry.removeprefix("gitdir:").strip())
        head = (_text(f"{own}/HEAD") or "").strip()
        if head.startswith("ref:"):
            ref = head.removeprefix("ref:").strip()
            common = os.path.join(own, (_text(f"{own}/commondir") or ".").strip())
            loose = _text(f"{common}/{ref}")
            head = (_packed(common).get(ref, "") if loose is None else loose).strip()
    except (OSError, ValueError):
        return None
    return head if _is_commit(head) else None


def head_moved_at(worktree: str) -> int | None:
    """Return when HEAD of a linked worktree last moved, as by a commit, in milliseconds; None when that is unknown."""
    try:
        entry = _text(f"{worktree}/.git") or ""
        own = os.path.join(worktree, entry.removeprefix("gitdir:").strip())
        return os.stat(f"{own}/logs/HEAD").st_mtime_ns // 1_000_000 if entry.startswith("gitdir:") else None
    except (OSError, ValueError):
        return None


def _is_commit(text: str) -> bool:
    return len(text) in _LENGTHS and _HEX.issuperset(text)


def _packed(git_dir: str) -> dict[str, str]:
    lines = (_text(f"{git_dir}/packed-refs") or "").splitlines()
    pairs = (line.split(" ", 1) for line in lines if line[:1] not in {"#", "^"})
    return {name: commit for commit, name in pairs}


def _text(path: str) -> str | None:
    """Return a file's content; None when there is no such file."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
