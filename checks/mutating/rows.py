"""Find the tests that name a row, and collect as few files as possible."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mutating.copies import tracked

if TYPE_CHECKING:
    from collections.abc import Iterable

_LEFT_OUT = Path("tests/real_agents")


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """A test: its id, the rows that it shows, and the store on which it runs (`any`: its own choice).

    `seconds` and `passed` are from the run before; None and False when nothing is known of one.
    """

    ident: str
    rows: tuple[str, ...]
    store: str
    seconds: float | None = None
    passed: bool = False

    @property
    def file(self) -> str:
        return self.ident.partition("::")[0]


def read_tests(path: Path) -> list[Test]:
    """Return the tests in a file that a pytest run wrote (tests/plugins/recording.py, checks/mutant_tests.py)."""
    return [
        Test(
            ident=each["test"],
            rows=tuple(each["rows"]),
            store=each["store"],
            seconds=each.get("seconds"),
            passed=each.get("outcome") == "passed",
        )
        for each in json.loads(path.read_text(encoding="utf-8"))
    ]


def tests_of_rows(root: Path, build: Path, rows: Iterable[str]) -> list[Test]:
    """Return all tests in the files that name one of the rows, without the tests with real agents.

    What is collected is kept in the folder `build`: files that have not changed are not collected again.
    """
    texts = _texts(root)
    named = [f'"{row}"'.encode() for row in rows]
    wanted = [
        str(file)
        for file, text in texts.items()
        if file.name.startswith("test_") and _LEFT_OUT not in file.parents and any(row in text for row in named)
    ]
    shared = hash_of_shared(root)
    hashes = {file: _hash([shared.encode(), texts[Path(file)]]) for file in wanted}
    store = build / "tests.json"
    known: dict[str, tuple[str, list[dict[str, object]]]] = json.loads(store.read_text()) if store.exists() else {}
    missing = [file for file in wanted if known.get(file, ("",))[0] != hashes[file]]
    if missing:
        _collect(root, build, missing)
        found = json.loads((build / "collected.json").read_text(encoding="utf-8"))
        for file in missing:
            known[file] = (hashes[file], [test for test in found if test["test"].startswith(f"{file}::")])
        store.write_text(json.dumps(known), encoding="utf-8")
    listed = build / "collected.json"
    listed.write_text(json.dumps([test for file in wanted for test in known[file][1]]), encoding="utf-8")
    return read_tests(listed)


def _texts(root: Path) -> dict[Path, bytes]:
    """Return the content of each Python file of the tests."""
    files = [Path("tests") / file for file in tracked(root / "tests") if file.suffix == ".py"]
    return {file: (root / file).read_bytes() for file in files}


def hash_of_shared(root: Path) -> str:
    """Return a hash of what all tests share: the Python files of `tests` not named test_*, such as conftest.py."""
    return _hash(text for file, text in _texts(root).items() if not file.name.startswith("test_"))


def _collect(root: Path, build: Path, files: list[str]) -> None:
    """Let pytest collect the tests of files into collected.json; exit the program when that fails."""
    build.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, "checks/mutant_tests.py", "collect", str(build / "collected.json"), *files]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"the tests could not be collected:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def _hash(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


def hash_of_tree(root: Path) -> str:
    """Return a hash of all sources and tests."""
    files = [file for file in tracked(root) if file.parts[0] in {"src", "tests"}]
    return _hash(part for file in files for part in (str(file).encode(), (root / file).read_bytes()))
