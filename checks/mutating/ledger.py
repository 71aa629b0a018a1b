"""The ledger of verdicts, by which a run continues where an earlier one was interrupted.

A mutant that was caught is not tried again while its entry, the file that it breaks, the files of the tests that caught
it and what all tests share (conftest, plugins, staging) are unchanged. Everything else is tried again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, replace
from typing import TYPE_CHECKING, Any

from mutating.trial import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from mutating.catalogue import Mutant


class Ledger:
    """A file with one line of JSON for each verdict; the last line of a mutant counts.

    `root` is the repository, `shared` a hash of what all tests share.
    """

    def __init__(self, path: Path, root: Path, shared: str) -> None:
        self.path, self.root, self.shared = path, root, shared
        self._texts: dict[str, bytes] = {}
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._kept = {line["mutant"]: line for line in map(_parsed, lines) if line}

    def has(self, mutant: Mutant) -> bool:
        """Return whether the mutant was tried and nothing has changed since."""
        line = self._kept.get(mutant.name)
        return line is not None and line["text"] == self._text(mutant, line["by"])

    def verdict_on(self, mutant: Mutant) -> Verdict | None:
        """Return the verdict on a mutant that was caught and has not changed since; else None."""
        line = self._kept.get(mutant.name)
        if line is None or line["kind"] != "caught" or not self.has(mutant):
            return None
        return Verdict(mutant=mutant, kind="caught", by=line["by"], seconds=line["seconds"], sound=line["sound"])

    def add(self, verdict: Verdict) -> None:
        """Append a verdict to the file at once."""
        line = {
            "mutant": verdict.mutant.name,
            "kind": verdict.kind,
            "by": verdict.by,
            "seconds": round(verdict.seconds, 1),
            "sound": verdict.sound,
            "text": self._text(verdict.mutant, verdict.by),
        }
        with self.path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")

    def _text(self, mutant: Mutant, by: dict[str, str]) -> str:
        """Return a hash of a mutant's entry, its source and the tests that caught it, to detect changes."""
        digest = hashlib.sha256(f"{self.shared} {astuple(replace(mutant, slow=False))}".encode())
        for file in sorted({mutant.file, *(test.partition("::")[0] for test in by.values())}):
            if file not in self._texts:
                path = self.root / file
                self._texts[file] = path.read_bytes() if path.is_file() else b""
            digest.update(hashlib.sha256(self._texts[file]).digest())
        return digest.hexdigest()


def _parsed(line: str) -> dict[str, Any]:
    """Return the content of a line; empty when it is incomplete because the run was killed."""
    try:
        content: dict[str, Any] = json.loads(line)
    except json.JSONDecodeError:
        return {}
    return content
