"""Guard the context windows of agents: remind an agent whose context fills up, and hand it off before the context is full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.coord.handoffs.handoff import hand_off
from fleet.verbs.homes.ownership import is_own

if TYPE_CHECKING:
    from fleet.store.queries import AgentContext
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context

_ASK_TEXT = (
    "Your context is {full}. At your next milestone commit your work and hand off: "
    "`fleet handoff --doc -` with what your successor needs (done, next steps, open questions, decisions)."
)
_REMINDER_TEXT = "Your context is {full}. Come to a verdict soon."


def guard_contexts(context: Context, project: str, warnings: list[str]) -> list[str]:
    """Remind or hand off each of this home's agents in a project whose context is too full.

    Returns a line for people for each agent that was reminded or handed off; adds the warnings of handoffs to
    `warnings`.
    """
    rows = context.store.read(lambda snapshot: q.contexts(snapshot, project=project))
    acts = [(row.id, _guard_agent(context, row, warnings)) for row in rows if is_own(context, row)]
    return [f"{ident}: {act}" for ident, act in acts if act]


def _guard_agent(context: Context, row: AgentContext, warnings: list[str]) -> str:
    """Hand off or remind one agent; a reviewer is only reminded. Warnings of a handoff are added to `warnings`.

    Returns what was done; "" for nothing: the context is not full enough, or the agent was reminded or handed off
    before.
    """
    full = _fill_level(row)
    forced = row.compacting or _is_over(context, row, "force")
    if forced and row.kind != "reviewer":
        reason = f"context {full}" if not row.compacting else f"it was about to compact ({full})"
        handoff = hand_off(context, row.id, reason=reason, by="fleet")
        warnings += handoff.warnings or []
        return f"handed off: {reason}" if handoff.changed else ""
    if (forced or _is_over(context, row, "ask")) and not row.reminded:
        text = (_REMINDER_TEXT if row.kind == "reviewer" else _ASK_TEXT).format(full=full)
        context.commit(_remind_agent(row, context.world.ids.dispatch(), text))
        return f"reminded: context {full}"
    return ""


def _is_over(context: Context, row: AgentContext, what: str) -> bool:
    """Return whether an agent's context has reached the level at which fleet acts.

    With `what` "ask", fleet asks the agent to hand off: settings handoff.ask_percent and handoff.ask_tokens. With
    "force", fleet hands it off itself: settings handoff.force_percent and handoff.force_tokens. Reaching one of the two
    is enough.
    """
    settings = context.settings()
    if what == "ask":
        percent, tokens = settings.handoff_ask_percent, settings.handoff_ask_tokens
    else:
        percent, tokens = settings.handoff_force_percent, settings.handoff_force_tokens
    return (row.context or 0) >= percent or (row.tokens or 0) >= tokens


def _fill_level(row: AgentContext) -> str:
    """Return how full an agent's context is, as text: percent and tokens, as far as they are known."""
    percent = f"{row.context} % full" if row.context is not None else "of unknown size"
    return f"{percent} ({row.tokens} tokens)" if row.tokens else percent


def _remind_agent(row: AgentContext, message: str, text: str) -> Change[None]:
    """Return the change that stores a message which reminds the agent that its context is nearly full.

    `message` is the new message's id.
    """

    def work(tx: Tx) -> None:
        tx.about(row.project, row.slug)
        tx.dispatch = row.id
        q.add_message(tx, id=message, dispatch=row.id, kind="reminder", sender="fleet", text=text, at=tx.at)

    return Change(f"remind {row.id} of its context", work)
