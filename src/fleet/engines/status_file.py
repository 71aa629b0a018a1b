"""What a program itself writes down of a running session: a file that names its process, and says what it does.

An engine's file has a table [status_file]: `file` ({pid} is the agent's), `pid` and `start` (the keys that must name this very
process), `state` (the key of its state) with `states` (what each means), `detail` and `at` (milliseconds).
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.model.agents.hook_events import STATES
from fleet.model.text.documents.kinds import TEXT, Key, choice
from fleet.model.text.documents.tables import Table, TableOf

if TYPE_CHECKING:
    from fleet.model.identity import Identity


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


TABLE = Table(
    "[status_file]",
    {
        **dict.fromkeys(("file", "pid", "start", "state"), Key(TEXT, required=True)),
        **dict.fromkeys(("detail", "at"), Key(TEXT)),
        "states": Key(TableOf(choice(*STATES)), required=True),
    },
)


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
