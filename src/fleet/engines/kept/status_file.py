"""Read the status file that an engine writes about its running session.

An engine's file has a table [status_file]: `file` ({pid} is the agent's), `pid` and `start` (the keys that must name
exactly this process), `state` (the key of its state) with `states` (what each value means), `detail` and `at`
(milliseconds).
"""

from __future__ import annotations

import os

from fleet.fast import json
from fleet.model.agents.activity.hook_events import STATES
from fleet.model.text.documents.kinds import TEXT, Key, choice
from fleet.model.text.documents.tables import Table, TableOf
from fleet.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.identity import Identity


@record(frozen=True, slots=True, kw_only=True)
class StatusFile:
    """The table [status_file] of an engine's file.

    `state`, `detail` and `at` are keys; '' for one that the file does not have.
    """

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


def path_of(table: StatusFile, who: Identity) -> str:
    """Return the path of the status file of a process."""
    return os.path.expanduser(table.file.replace("{pid}", str(who.pid)))


def state_of(table: StatusFile, who: Identity) -> tuple[str, str, int | None]:
    """Return (state, detail, time in milliseconds) from an engine's status file; detail "" and time None if missing.

    The state is `unknown` when the file is missing or cannot be read, names another process, or has a state that the table
    does not know.
    """
    try:
        with open(path_of(table, who), encoding="utf-8") as file:
            content = json.load(file)
    except (OSError, ValueError, RecursionError):
        return "unknown", "", None
    if not isinstance(content, dict) or (str(content.get(table.pid)), str(content.get(table.start))) != (
        str(who.pid),
        who.start,
    ):
        return "unknown", "", None
    at = content.get(table.at)
    state = table.states.get(str(content.get(table.state)), "unknown")
    return state, str(content.get(table.detail) or ""), at if isinstance(at, int) else None
