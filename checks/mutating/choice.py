"""Choose which mutants a run tries."""

from __future__ import annotations

import re
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from mutating.catalogue import Mutant
    from mutating.rows import Test

_DAY = 24 * 60 * 60
_ROW = re.compile(r"[A-Z]+-\d+")


def matching(mutants: list[Mutant], words: str) -> list[Mutant]:
    """Return the mutants that contain all the words in row, name, area or file. A word like STORE-1 means the whole row."""
    return [mutant for mutant in mutants if all(_has(mutant, word) for word in words.split())]


def _has(mutant: Mutant, word: str) -> bool:
    if _ROW.fullmatch(word):
        return mutant.row == word
    return word.lower() in f"{mutant.row} {mutant.name} {mutant.area} {mutant.file}".lower()


def base_of(root: Path, since: str) -> str:
    """Return the commit since which files count as changed (mutating/part.py says which); empty without history."""
    if since:
        return _git(root, "rev-parse", "--verify", "--quiet", f"{since}^{{commit}}")
    head = _git(root, "rev-parse", "HEAD")
    base = _git(root, "merge-base", "HEAD", "origin/main") or _git(root, "merge-base", "HEAD", "main")
    if base and base != head:
        return base
    newest = int(_git(root, "show", "--no-patch", "--format=%ct", "HEAD") or 0)
    before = _git(root, "rev-list", "--max-count=1", "--first-parent", f"--before={newest - _DAY}", "HEAD")
    return before or _git(root, "rev-parse", "--verify", "--quiet", "HEAD~1")


def changed_files(root: Path, base: str) -> set[str]:
    """Return the files that differ from a commit; empty without a commit."""
    return set(_git(root, "diff", "--name-only", base).splitlines()) if base else set()


def head_of(root: Path) -> str:
    """Return the short hash of the newest commit; today's date where there is none."""
    return _git(root, "rev-parse", "--short=12", "HEAD") or time.strftime("%Y-%m-%d", time.gmtime())


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False).stdout.strip()


def touched(mutants: list[Mutant], tests: list[Test], files: set[str]) -> list[Mutant]:
    """Return the mutants whose source, entry or row's tests are among the changed files."""
    rows = {row for test in tests if test.file in files for row in test.rows}
    return [
        mutant
        for mutant in mutants
        if mutant.file in files or mutant.row in rows or f"checks/mutants/{mutant.area}.toml" in files
    ]
