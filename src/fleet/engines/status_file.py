"""What a program itself writes down of a running session: a file that names its process, and says what it does.

An engine's file has a table [status_file]: `file` ({pid} is the agent's), `pid` and `start` (the keys that must name this very
process), `state` (the key of its state) with `states` (what each means), `detail` and `at` (milliseconds).
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fleet.model.agents.hook_events import STATES

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.errors.given import BadSetting
    from fleet.model.identity import Identity

_TEXTS = ("file", "pid", "start", "state", "detail", "at")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusFile:
    """The table [status_file] of an engine."""

    file: str
    pid: str
    start: str
    state: str
    detail: str = ""
    at: str = ""
    states: dict[str, str] = field(default_factory=dict)


def read(given: dict[str, Any], fault: Callable[[str, str], BadSetting]) -> StatusFile:
    """The table, each value checked."""
    for key, value in given.items():
        if key not in {*_TEXTS, "states"}:
            raise fault(key, f"[status_file] has no {key!r}")
        if key in _TEXTS and not isinstance(value, str):
            raise fault(key, f"{key} is not a text")
    missing = [key for key in ("file", "pid", "start", "state", "states") if key not in given]
    if missing:
        raise fault(missing[0], f"[status_file] lacks {missing[0]!r}")
    for name, meaning in given["states"].items():
        if meaning not in STATES:
            raise fault(f"states.{name}", f"{name} means {meaning!r}, but should be one of {', '.join(STATES)}")
    return StatusFile(**given)


def state_of(table: StatusFile, who: Identity) -> tuple[str, str, int | None]:
    """State, detail and time as the file has them, if it is of this very process; else unknown."""
    path = os.path.expanduser(table.file.replace("{pid}", str(who.pid)))
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except (OSError, ValueError):
        return "unknown", "", None
    if not isinstance(content, dict) or (str(content.get(table.pid)), str(content.get(table.start))) != (
        str(who.pid),
        who.start,
    ):
        return "unknown", "", None
    at = content.get(table.at)
    state = table.states.get(str(content.get(table.state)), "unknown")
    return state, str(content.get(table.detail) or ""), at if isinstance(at, int) else None
