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


def state_of(told_in: StatusFile, who: Identity) -> tuple[str, str, int | None]:
    """State, detail and time as the file has them, if it is of this very process; else unknown."""
    path = os.path.expanduser(told_in.file.replace("{pid}", str(who.pid)))
    try:
        with open(path, encoding="utf-8") as file:
            told = json.load(file)
    except (OSError, ValueError):
        return "unknown", "", None
    if not isinstance(told, dict) or (str(told.get(told_in.pid)), str(told.get(told_in.start))) != (
        str(who.pid),
        who.start,
    ):
        return "unknown", "", None
    at = told.get(told_in.at)
    state = told_in.states.get(str(told.get(told_in.state)), "unknown")
    return state, str(told.get(told_in.detail) or ""), at if isinstance(at, int) else None
