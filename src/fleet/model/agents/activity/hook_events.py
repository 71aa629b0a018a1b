"""Compute the new record of an agent from the report of a hook. Pure.

Hooks run side by side and may arrive out of order, so each report has its time. A report that is older than the
recorded state does not change that state, and facts that a report does not mention stay as they are.
"""

from __future__ import annotations

from fleet.model.states import assert_never
from fleet.model.text.times import SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from fleet.store.queries import LivingAgent

    # What a hook reports about the agent's turn. failed: an error after which fleet lets the agent try again. good: no
    # such error. back: the agent was sent back for a report. new: a new turn began. "": nothing.
    Turn = Literal["", "failed", "good", "back", "new"]
    Facts = dict[str, str | int | None]

# The states of an agent that its hooks report.
STATES = ("working", "asks", "idle", "failed_turn", "limit", "login", "stopped", "over_budget", "compacting", "ended")
# States in which the agent waits at its prompt and takes messages.
QUIET = frozenset({"idle", "stopped", "over_budget", "failed_turn", "limit", "login"})
# States in which a hold of the engine has stopped the agent; it continues when the engine works again.
HELD = frozenset({"limit", "login"})
# How often an unchanged state is recorded.
BEAT = 15 * SECOND
MOST_FAILED_TURNS = 5
# The facts that a report may have, and the fields of an agent's record whose changes are recorded at once.
_FACTS = ("context", "tokens", "cost", "conversation")
_NEWS = ("state", "detail", "compacting", "sent_back", "failed_turns", "conversation", "context")


def is_continued(failed_turns: int) -> bool:
    """Return whether fleet tells an agent to go on after this many failed turns in a row.

    True for 1 to MOST_FAILED_TURNS; after more, a person has to look at the agent.
    """
    return 0 < failed_turns <= MOST_FAILED_TURNS


class HookReport:
    """What one call of a hook reports about an agent: its state, the result of its turn, and facts such as its tokens.

    `at` is when the hook was called, in milliseconds; two hooks may have the same time. `state` None leaves the agent's
    state as it is, and `turn` does not count then; `turn` '' says nothing of a turn. With `yields`, the report does not
    replace a state that was reported at the same time.
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


def agent_after_report(known: LivingAgent, report: HookReport) -> LivingAgent | None:
    """Return the agent's record as a hook's report changes it.

    A state that is older than the recorded one, and facts that are older than the record, change nothing. None when the
    last record is less than 15 seconds old, and only the heartbeat, tokens or cost would change.
    """
    changes: dict[str, object] = {}
    if report.state is not None and report.at >= (known.state_at or 0) + report.yields:
        changes.update(_state_changes(known, report))
    before = known.heartbeat_at or 0
    if report.at >= before:
        changes.update(report.facts)
    after = known.replaced(**changes, heartbeat_at=max(before, report.at))
    if report.at < before + BEAT and all(getattr(after, name) == getattr(known, name) for name in _NEWS):
        return None
    return after


def _state_changes(known: LivingAgent, report: HookReport) -> dict[str, object]:
    """Return the fields of the agent's record that change because of the report's state and turn, with their new values."""
    changes: dict[str, object] = {"compacting": int(report.state == "compacting")}
    if (known.state, known.detail) != (report.state, report.detail):
        changes.update(state=report.state, detail=report.detail, state_at=report.at)
    match report.turn:
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
            assert_never(report.turn)
    return changes
