"""Branches, read from a repository's files as git itself reads them: no process is started for it."""

from __future__ import annotations

import os
import re

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def branches(git_dir: str, names: tuple[str, ...]) -> dict[str, str] | None:
    """Those of the named branches that are there, with their commits; None where only git can tell."""
    if not os.path.isdir(f"{git_dir}/refs/heads") or os.path.exists(f"{git_dir}/commondir"):
        return None  # its refs are kept in another way, or elsewhere
    try:
        loose = {name: _text(f"{git_dir}/refs/heads/{name}") for name in names}
        packed = _packed(git_dir) if None in loose.values() else {}  # after the loose ones: packing removes those last
    except (OSError, ValueError):
        return None
    known = {name: packed.get(f"refs/heads/{name}") if text is None else text for name, text in loose.items()}
    there = {name: commit.strip() for name, commit in known.items() if commit is not None}
    return there if all(_COMMIT.fullmatch(commit) for commit in there.values()) else None


def _packed(git_dir: str) -> dict[str, str]:
    lines = (_text(f"{git_dir}/packed-refs") or "").splitlines()
    pairs = (line.split(" ", 1) for line in lines if line[:1] not in {"#", "^"})
    return {name: commit for commit, name in pairs}


def _text(path: str) -> str | None:
    """What a file says; None when there is none of that name."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
