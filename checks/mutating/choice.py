"""Choose which mutants a run tries."""

from __future__ import annotations

import random
import re
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from mutating.catalogue import Mutant
    from mutating.rows import Test

_ROW = re.compile(r"[A-Z]+-\d+")


def matching(mutants: list[Mutant], words: str) -> list[Mutant]:
    """Return the mutants that have all the words in row, name, area or file. A word like STORE-1 is the whole row."""
    return [mutant for mutant in mutants if all(_has(mutant, word) for word in words.split())]


def _has(mutant: Mutant, word: str) -> bool:
    if _ROW.fullmatch(word):
        return mutant.row == word
    return word.lower() in f"{mutant.row} {mutant.name} {mutant.area} {mutant.file}".lower()


def changed_files(root: Path) -> set[str]:
    """Return the files that differ from where this branch began; on the main branch, from the commit before. Empty without history."""
    base = _git(root, "merge-base", "HEAD", "origin/main") or _git(root, "merge-base", "HEAD", "main")
    if not base or base == _git(root, "rev-parse", "HEAD"):
        base = _git(root, "rev-parse", "--verify", "--quiet", "HEAD~1")
    return set(_git(root, "diff", "--name-only", base).splitlines()) if base else set()


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False).stdout.strip()


def touched(mutants: list[Mutant], tests: list[Test], files: set[str]) -> list[Mutant]:
    """Return the mutants whose source, entry or row's tests are among the files."""
    rows = {row for test in tests if test.file in files for row in test.rows}
    return [
        mutant
        for mutant in mutants
        if mutant.file in files or mutant.row in rows or f"checks/mutants/{mutant.area}.toml" in files
    ]


def in_turn(mutants: list[Mutant], first: list[Mutant], seed: str) -> list[Mutant]:
    """Return all mutants in an order that the seed decides, those of `first` first."""
    names = {mutant.name for mutant in first}
    shuffled = random.Random(seed).sample(mutants, len(mutants))  # noqa: S311 - an order, not a secret
    return sorted(shuffled, key=lambda mutant: mutant.name not in names)
