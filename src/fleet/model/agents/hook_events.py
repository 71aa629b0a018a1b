"""What an agent's hooks tell of it, weighed against what is known. Decided here, without acting.

Hooks run side by side and may arrive out of order, so each carries its time. What is older than what is known changes nothing,
and what a hook does not speak of stays as it is.
"""

from __future__ import annotations

from fleet.model.states import assert_never
from fleet.model.text.times import MINUTE, SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from fleet.store.queries import LivingAgent

    # What became of an agent's turn: it failed, went well, was sent back for a report, or a new one began.
    Turn = Literal["", "failed", "good", "back", "new"]
    Facts = dict[str, str | int | None]

STATES = ("working", "asks", "idle", "failed_turn", "limit", "stopped", "compacting", "ended")
# At its prompt: something may be said to it.
QUIET = frozenset({"idle", "stopped", "failed_turn", "limit"})
# How often an agent that does the same as before is written down.
BEAT = 15 * SECOND
# How long nothing may be heard of one that works before it is called silent.
SILENCE = 10 * MINUTE
MOST_FAILED_TURNS = 5
_FACTS = ("context", "tokens", "cost", "conversation")
_NEWS = ("state", "detail", "compacting", "sent_back", "failed_turns", "conversation", "context")


class HookReport:
    """One report.

    Times are as fine as the kernel's; of two reports of one moment the one that nobody waited for yields.
    """

    __slots__ = ("at", "detail", "facts", "state", "turn", "yields")

    def __init__(
        self,
        at: int,
        *,
        state: str | None = None,
        detail: str = "",
        turn: Turn = "",
        facts: Facts | None = None,
        yields: bool = False,
    ) -> None:
        self.at = at
        self.state = state
        self.detail = detail
        self.turn = turn
        self.yields = yields
        self.facts = {name: value for name, value in (facts or {}).items() if name in _FACTS and value is not None}


def agent_after_report(known: LivingAgent, heard: HookReport) -> LivingAgent | None:
    """What is known of the agent afterwards; None when nothing is worth writing down."""
    changes: dict[str, object] = {}
    if heard.state is not None and heard.at >= (known.state_at or 0) + heard.yields:
        changes.update(_state_changes(known, heard))
    before = known.heartbeat_at or 0
    if heard.at >= before:
        changes.update(heard.facts)
    after = known.replaced(**changes, heartbeat_at=max(before, heard.at))
    if heard.at < before + BEAT and all(getattr(after, name) == getattr(known, name) for name in _NEWS):
        return None
    return after


def _state_changes(known: LivingAgent, heard: HookReport) -> dict[str, object]:
    changes: dict[str, object] = {"compacting": int(heard.state == "compacting")}
    if (known.state, known.detail) != (heard.state, heard.detail):
        changes.update(state=heard.state, detail=heard.detail, state_at=heard.at)
    match heard.turn:
        case "failed":
            changes["failed_turns"] = known.failed_turns + 1
        case "good":
            changes["failed_turns"] = 0
        case "back":
            changes["sent_back"] = known.sent_back + 1
        case "new":
            changes["sent_back"] = 0
        case "":
            pass
        case _:
            assert_never(heard.turn)
    return changes


def is_silent(state: str, heard_at: int | None, now: int) -> bool:
    """Whether one that should be heard of is not. Silent is not dead."""
    return state in {"working", "compacting"} and heard_at is not None and now - heard_at > SILENCE
