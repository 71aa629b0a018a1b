"""What an agent is told: a file of the package, filled in. A file of the same name in $FLEET_HOME/prompts wins."""

from __future__ import annotations

import re
from pathlib import Path

from fleet.world.home import paths

BUILT_IN = Path(__file__).parent / "prompts"


def prompt(home: str, kind: str, facts: dict[str, str]) -> str:
    """The prompt for a kind of dispatch."""
    return re.sub(r"\{(\w+)\}", lambda found: facts.get(found[1], found[0]), _template(home, kind))


def _template(home: str, kind: str) -> str:
    for folder in (Path(home, paths.PROMPTS), BUILT_IN):
        for name in (kind, "worker"):
            path = folder / f"{name}.md"
            if path.exists() and (name == kind or folder == BUILT_IN):
                return path.read_text(encoding="utf-8")
    return "{title}\n\n{description}\n"
