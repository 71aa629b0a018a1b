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
from fleet.world.git.pointers import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.identity import Identity

# How many characters of the file are read, and the first time in milliseconds that is none.
_MOST = 1_000_000
_TOO_LATE = 1 << 53


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

    The state is `unknown` when the file is missing, cannot be read or is no regular file, names another process, or has a
    state that the table does not know.
    """
    try:
        with open(open_regular(path_of(table, who)), encoding="utf-8") as file:
            content = json.loads(file.read(_MOST))
    except (OSError, ValueError, RecursionError):
        return "unknown", "", None
    if not isinstance(content, dict) or (str(content.get(table.pid)), str(content.get(table.start))) != (
        str(who.pid),
        who.start,
    ):
        return "unknown", "", None
    at = content.get(table.at)
    state = table.states.get(str(content.get(table.state)), "unknown")
    is_time = type(at) is int and 0 <= at < _TOO_LATE  # a bool is no time
    return state, str(content.get(table.detail) or ""), at if is_time else None
