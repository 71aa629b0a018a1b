"""Read how an engine names its hook events (its dialect), from the file that the launch of an agent wrote."""

from __future__ import annotations

from fleet.model.agents.dialect import Dialect
from fleet.model.text import jsontext
from fleet.world.home import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def dialect_of(home: str, engine: str) -> Dialect:
    """Return the dialect of an engine: its names for hook events and answers.

    Raise FileNotFoundError when this home has never started an agent of the engine.
    """
    with open(f"{home}/{paths.hook_dialect(engine)}", encoding="utf-8") as file:
        table: Any = jsontext.loads(file.read().strip())
    return Dialect(table)
