"""The dialect of an engine's hooks: what each event means, and which field of the JSON holds each fact.

A hook reads the dialect from a small JSON file in the home, made from the engine's TOML file: parsing TOML would take
longer than all else that a hook does.
"""

from __future__ import annotations

from fleet.model.text import escapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    # The JSON that an engine sends to its hooks and reads from them; the engine defines its shape.
    Payload = dict[str, Any]
    FailedTurnRemedy = Literal["again", "limit", "login"]

# What an event of an engine can mean.
MEANINGS = (
    "started",
    "prompted",
    "worked",
    "notified",
    "asks",
    "permits",
    "stopped",
    "failed",
    "ended",
    "compacting",
    "status",
    "idles",
)
# What to do after an error ended a turn: try again, wait for the limit's reset, or wait for a person to log in.
REMEDIES = ("again", "limit", "login")
# The dotted path of each fact in the JSON, unless the engine's file names another.
FIELDS = {
    "conversation": "session_id",
    "cwd": "cwd",
    "words": "last_assistant_message",
    "prompt": "prompt",
    "tool": "tool_name",
    "input": "tool_input",
    "error": "error",
    "notice": "notification_type",
    "notice_text": "message",
    "notice_command": "details.command",
    "background": "background_tasks",
    "reason": "reason",
    "context": "context_window.used_percentage",
    "tokens": "context_window.total_input_tokens",
    "cost": "cost.total_cost_usd",
    "windows": "rate_limits",
}


class Dialect:
    """The dialect of one engine's hooks, built from the table in the engine's file.

    `events`, `errors` and `notices` map the engine's names to meanings, remedies and states of the agent. `asking` and
    `shell` name the engine's tools for questions and for shell commands. `wait` is how many seconds a question may wait
    for its answer. `own_status` lists the person's own settings files that may have a status line.
    """

    __slots__ = ("asking", "engine", "errors", "events", "fields", "notices", "own_status", "shell", "wait")

    def __init__(self, table: dict[str, Any]) -> None:
        self.engine: str = table["engine"]
        self.events: dict[str, str] = table["events"]
        self.fields: dict[str, str] = {**FIELDS, **table.get("fields", {})}
        self.errors: dict[str, FailedTurnRemedy] = table.get("errors", {})
        self.notices: dict[str, str] = table.get("notices", {})
        self.asking: str = table.get("asking", "")
        self.shell: str = table.get("shell", "")
        self.own_status: list[str] = table.get("own_status", [])
        self.wait: float = table.get("wait", 0)

    def entries_with_facts(self, payload: Payload) -> Payload:
        """Return the entries of a hook's payload that may hold facts. Others, such as a tool's output, may be long."""
        kept = {path.partition(".")[0] for path in self.fields.values()}
        return {name: value for name, value in payload.items() if name in kept}

    def field(self, payload: Payload, name: str) -> Any:  # noqa: ANN401 - any JSON value
        """Return the value of a named fact in a hook's payload; None when the engine did not send it."""
        value: Any = payload
        for part in self.fields[name].split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return value

    def text(self, payload: Payload, name: str) -> str:
        """Return a named fact of a hook's payload as cleaned text; empty when it is missing or not a string."""
        value = self.field(payload, name)
        return clean(value) if isinstance(value, str) else ""


def clean(text: str, most: int = 4_000) -> str:
    """Return a text with control characters made visible, cut to `most` characters with a note of how much was cut."""
    kept = escapes.text(text.replace("\r\n", "\n")).encode("utf-8", "backslashreplace").decode()
    return escapes.cut(kept, most)
