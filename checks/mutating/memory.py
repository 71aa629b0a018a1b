"""The memory of earlier runs: how long tests take, and which tests pass on the unbroken source."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# Seconds that a test is expected to take, by its folder, while nobody has seen it run.
_EXPECTED = {"unit": 0.1, "contract": 0.4, "verbs": 0.6, "cli": 0.7, "live": 5.0, "crash": 60.0}


class Memory:
    """The memory of earlier runs, kept in a file of `.build`. Without it a run only takes longer.

    `seconds` is how long each test took. `sound` are the tests that pass on the unbroken source; they are forgotten
    when `tree`, a hash of all sources and tests, has changed.
    """

    def __init__(self, path: Path, tree: str) -> None:
        self.path, self.tree = path, tree
        self.seconds: dict[str, float] = {}
        self.sound: set[str] = set()
        if path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
            self.seconds = kept["seconds"]
            self.sound = set(kept["sound"]) if kept["tree"] == tree else set()

    def expected(self, test: str) -> float:
        """Return how many seconds a test will probably take."""
        folder = test.split("/", 2)[1]
        return self.seconds.get(test, _EXPECTED.get(folder, 1.0))

    def save(self) -> None:
        """Write the memory to its file."""
        kept = {"tree": self.tree, "seconds": self.seconds, "sound": sorted(self.sound)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(kept), encoding="utf-8")
