"""How one engine's hooks speak: what its events mean, and where in their JSON each fact is.

It comes from the engine's file, through a small JSON file in the home: reading TOML would cost a hook more than all it does.
"""

from __future__ import annotations

from fleet.model.text import escapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    # What an engine tells its hooks and reads from them: JSON of its own shape.
    Payload = dict[str, Any]
    Remedy = Literal["again", "limit", "login"]

MEANINGS = (
    "started",
    "prompted",
    "worked",
    "notified",
    "asks",
    "stopped",
    "failed",
    "ended",
    "compacting",
    "status",
    "idles",
)
# What becomes of a turn that an error ended: try again, wait for the limit's reset, or wait for a person to log in.
REMEDIES = ("again", "limit", "login")
# Where the facts are unless the engine's file says otherwise.
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
    "background": "background_tasks",
    "reason": "reason",
    "context": "context_window.used_percentage",
    "tokens": "context_window.total_input_tokens",
    "cost": "cost.total_cost_usd",
    "windows": "rate_limits",
}


class Dialect:
    """The dialect of one engine."""

    __slots__ = ("asking", "engine", "errors", "events", "fields", "notices", "own_status", "wait")

    def __init__(self, table: dict[str, Any]) -> None:
        self.engine: str = table["engine"]
        self.events: dict[str, str] = table["events"]
        self.fields: dict[str, str] = {**FIELDS, **table.get("fields", {})}
        self.errors: dict[str, Remedy] = table.get("errors", {})
        self.notices: dict[str, str] = table.get("notices", {})
        self.asking: str = table.get("asking", "")
        self.own_status: list[str] = table.get("own_status", [])
        self.wait: float = table.get("wait", 0)

    def field(self, payload: Payload, name: str) -> Any:  # noqa: ANN401 - whatever the engine says
        """One fact, or None where the engine does not say it."""
        value: Any = payload
        for part in self.fields[name].split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return value

    def text(self, payload: Payload, name: str) -> str:
        """One fact as a text, without what no store and no terminal takes."""
        value = self.field(payload, name)
        return clean(value) if isinstance(value, str) else ""


def clean(text: str, most: int = 4_000) -> str:
    """A text as it can be kept and shown: control characters are made visible; what is too long is cut, and says by how much."""
    kept = escapes.text(text.replace("\r\n", "\n")).encode("utf-8", "backslashreplace").decode()
    return escapes.cut(kept, most)
