"""Read the mutants in checks/mutants/*.toml, and check that each applies."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from conformance import read_due

if TYPE_CHECKING:
    from pathlib import Path

MOST_A_FUNCTION = 3
STORES = {"any": ("any",), "both": ("sqlite", "postgres")}
_WORDS = ("name", "row", "breaks", "file", "before", "after")
_LISTS = ("tests", "stores")
_WHY_ONE_STORE = "why_one_store"
_QUERY = re.compile(r"^-- name: (\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One small change that breaks the source: what to replace in which file, and the row whose tests have to notice."""

    name: str
    row: str
    breaks: str
    file: str
    before: str
    after: str
    stores: tuple[str, ...]
    tests: tuple[str, ...]
    area: str = ""
    # Its tests wait long before they notice: CI's part tries it only when it changed.
    slow: bool = False

    def applied_to(self, text: str) -> str | None:
        """Return the broken text; None unless the text to replace occurs exactly once."""
        return text.replace(self.before, self.after) if text.count(self.before) == 1 else None


class Broken(Exception):
    """An entry, or a file of entries, cannot be read."""


def due_rows(root: Path) -> dict[str, str]:
    """Return the rows that are due, each with the stores that it needs: `any` or `both`."""
    return read_due((root / "docs/reference/due.txt").read_text(encoding="utf-8").splitlines())


def wanted_rows(root: Path) -> list[str]:
    """Return the rows that need at least one mutant."""
    lines = (root / "checks/mutants/rows.txt").read_text(encoding="utf-8").splitlines()
    return [row for line in lines if not line.startswith("#") for row in line.split()]


def read(root: Path) -> tuple[list[Mutant], list[str]]:
    """Return the mutants of all files, and a line for each file, key and entry that cannot be read."""
    due, mutants, faults = due_rows(root), [], []
    for path in sorted((root / "checks/mutants").glob("*.toml")):
        try:
            document = tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as why:
            faults.append(f"{path.name}: {why}")
            continue
        entries = document.pop("mutant", [])
        faults += [f"{path.name}: unknown key {key!r}" for key in document]
        for number, entry in enumerate(entries, 1):
            try:
                mutants.append(_mutant(entry, due, path.stem))
            except Broken as why:
                faults.append(f"{path.name}, entry {number}: {why}")
    return mutants, faults


def _mutant(entry: dict[str, object], due: dict[str, str], area: str) -> Mutant:
    """Return the mutant in an entry; raise Broken when a key is missing, unknown or wrong."""
    words = {key: str(entry.get(key, "")) for key in _WORDS}
    if missing := [key for key in _WORDS if not words[key] and not (key == "after" and key in entry)]:
        raise Broken(f"no {', '.join(missing)}")
    if unknown := sorted(set(entry) - {*_WORDS, *_LISTS, _WHY_ONE_STORE, "slow"}):
        raise Broken(f"unknown key {', '.join(unknown)}")
    lists = {key: _strings(key, entry.get(key, [])) for key in _LISTS}
    if not lists["tests"]:
        raise Broken("no tests")
    if words["row"] not in due:
        raise Broken(f"{words['row']} is not a row that is due")
    stores = _stores(entry, lists["stores"], STORES[due[words["row"]]])
    return Mutant(**words, stores=stores, tests=lists["tests"], area=area, slow=entry.get("slow") is True)


def _stores(entry: dict[str, object], given: tuple[str, ...], of_row: tuple[str, ...]) -> tuple[str, ...]:
    """Return the stores on which the tests have to notice: those that are given, else those of the row.

    Raise Broken when a given store is unknown, when those given are the row's, or when they have no reason.
    """
    if unknown := sorted(set(given) - {"any", "sqlite", "postgres"}):
        raise Broken(f"unknown store {', '.join(unknown)}")
    if given and set(given) == set(of_row):
        raise Broken("its stores are those of its row, which need not be said")
    if bool(given) != bool(str(entry.get(_WHY_ONE_STORE, "")).strip()):
        raise Broken(f"{_WHY_ONE_STORE} says why its stores are not those of its row: it needs both, or neither")
    return given or of_row


def _strings(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise Broken(f"{key} is not a list of words")
    return tuple(value)


def faults_of(root: Path, mutants: list[Mutant]) -> list[str]:
    """Return a line for each mutant that cannot be used, each name of several, and each function with too many."""
    texts: dict[str, str | None] = {}
    faults, places = [], Counter[tuple[str, str]]()
    for mutant in mutants:
        if mutant.file not in texts:
            path = root / mutant.file
            texts[mutant.file] = path.read_text(encoding="utf-8") if path.is_file() else None
        text = texts[mutant.file]
        if why := _why_wrong(root, mutant, text):
            faults.append(f"{mutant.area}.toml: {mutant.name!r}: {why}")
        elif text is not None:
            places[mutant.file, place_of(mutant.file, text, text.index(mutant.before))] += 1
    names = Counter(mutant.name for mutant in mutants)
    faults += [f"{count} mutants are called {name!r}" for name, count in names.items() if count > 1]
    return faults + [
        f"{file} {place}: {count} mutants, at most {MOST_A_FUNCTION} a function"
        for (file, place), count in places.items()
        if place and count > MOST_A_FUNCTION
    ]


def _why_wrong(root: Path, mutant: Mutant, text: str | None) -> str:
    """Return why a mutant cannot be used, as text; empty when it can."""
    if not mutant.file.startswith("src/") or text is None:
        return f"{mutant.file} is not a source file"
    broken = mutant.applied_to(text)
    if broken is None:
        return f"the text to replace is {text.count(mutant.before)} times in {mutant.file}, not once"
    if broken == text:
        return "it changes nothing"
    if mutant.file.endswith(".py"):
        try:
            ast.parse(broken)
        except SyntaxError as why:
            return f"does not compile: {why}"
    missing = [test for test in mutant.tests if not _is_test(root, test)]
    return f"no such test: {', '.join(missing)}" if missing else ""


def _is_test(root: Path, test: str) -> bool:
    """Return whether the file has a function or class with the test's name."""
    file, *names = test.partition("[")[0].split("::")
    text = (root / file).read_text(encoding="utf-8") if (root / file).is_file() else ""
    return bool(text) and all(re.search(rf"\b(def|class) {re.escape(name)}\b", text) for name in names)


def place_of(file: str, text: str, offset: int) -> str:
    """Return the innermost function, or the named query, at an offset of a file; empty outside of all."""
    if file.endswith(".sql"):
        names = [match[1] for match in _QUERY.finditer(text) if match.start() <= offset]
        return names[-1] if names else ""
    if not file.endswith(".py"):
        return ""
    line = text.count("\n", 0, offset) + 1
    around = [(first, name) for first, last, name in _functions(text) if first <= line <= last]
    return f"{max(around)[1]} (line {max(around)[0]})" if around else ""


@cache
def _functions(text: str) -> list[tuple[int, int, str]]:
    """Return the first and the last line of each function, and its name."""
    return [
        (node.lineno, node.end_lineno or 0, node.name)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
