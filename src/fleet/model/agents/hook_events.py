"""What an agent's hooks tell of it, weighed against what is known. Decided here, without acting.

Hooks run side by side and may arrive out of order, so each carries its time. What is older than what is known changes nothing,
and what a hook does not speak of stays as it is.
"""

from __future__ import annotations

from fleet.model.text.times import MINUTE, SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.store.queries import LivingAgent

    Row = dict[str, Any]

STATES = ("working", "asks", "idle", "failed_turn", "limit", "stopped", "compacting", "ended")
# At its prompt: something may be said to it.
QUIET = frozenset({"idle", "stopped", "failed_turn", "limit"})
# How often an agent that does the same as before is written down.
BEAT = 15 * SECOND
# How long nothing may be heard of one that works before it is called silent.
SILENCE = 10 * MINUTE
MOST_FAILED_TURNS = 5
COLUMNS = (
    "dispatch",
    "state",
    "state_at",
    "detail",
    "context",
    "tokens",
    "cost",
    "conversation",
    "compacting",
    "sent_back",
    "failed_turns",
    "heartbeat_at",
)
_FACTS = ("context", "tokens", "cost", "conversation")
_NEWS = ("state", "detail", "compacting", "sent_back", "failed_turns", "conversation", "context")


class Heard:
    """One report. `turn` says what became of the turn: "failed", "good", "back" (sent back), "new", or nothing.

    Times are as fine as the kernel's; of two reports of one moment the one that nobody waited for yields.
    """

    __slots__ = ("at", "detail", "facts", "state", "turn", "yields")

    def __init__(
        self,
        at: int,
        *,
        state: str | None = None,
        detail: str = "",
        turn: str = "",
        facts: Row | None = None,
        yields: bool = False,
    ) -> None:
        self.at = at
        self.state = state
        self.detail = detail
        self.turn = turn
        self.yields = yields
        self.facts = {name: value for name, value in (facts or {}).items() if name in _FACTS and value is not None}


def weighed(known: LivingAgent, heard: Heard) -> Row | None:
    """What is known afterwards, column by column; None when nothing is worth writing down."""
    after = {name: known[name] for name in COLUMNS}
    if heard.state is not None and heard.at >= (known.state_at or 0) + heard.yields:
        _learn_state(after, heard)
    before = known.heartbeat_at or 0
    if heard.at >= before:
        after.update(heard.facts)
    if heard.at < before + BEAT and all(after[name] == known[name] for name in _NEWS):
        return None
    after.heartbeat_at = max(before, heard.at)
    return after


def _learn_state(after: Row, heard: Heard) -> None:
    if (after["state"], after["detail"]) != (heard.state, heard.detail):
        after.update(state=heard.state, detail=heard.detail, state_at=heard.at)
    after["compacting"] = int(heard.state == "compacting")
    if heard.turn == "failed":
        after["failed_turns"] += 1
    elif heard.turn == "good":
        after["failed_turns"] = 0
    if heard.turn == "back":
        after["sent_back"] += 1
    elif heard.turn == "new":
        after["sent_back"] = 0


def is_silent(state: str, heard_at: int | None, now: int) -> bool:
    """Whether one that should be heard of is not. Silent is not dead."""
    return state in {"working", "compacting"} and heard_at is not None and now - heard_at > SILENCE
