"""Deliver waiting messages to an agent.

A busy agent gets them from its hooks. An idle agent is woken by the hook that waits beside it, where the engine has
such a hook; otherwise the text is typed into its terminal as one bracketed paste, and only while the screen shows an
empty input box: in a dialog, Enter would approve a command. Nothing is typed into a screen that is not recognised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.engines.reader import engine as read_engine
from fleet.engines.reader import has_box, state_of
from fleet.model.agents.activity.hook_events import QUIET
from fleet.model.text.times import SECOND
from fleet.store import queries as q
from fleet.verbs.agents import messages
from fleet.verbs.agents.cost.budgets import why_parked
from fleet.verbs.homes.ownership import is_own, owner_of

if TYPE_CHECKING:
    from fleet.engines.reader import Engine
    from fleet.store.queries import LivingAgent, WaitingMessage
    from fleet.verbs.context import Context
    from fleet.world.tmux import Listing

# How long the hook beside an idle agent has to wake it before the text is typed.
_WAKE_TIME = 15 * SECOND
INBOX = "the agent's next `fleet inbox` shows the message"
NOT_TAKEN = "tmux did not take the message; fleet tries again"


def deliver(context: Context, dispatch: str, listing: Listing) -> str:
    """Deliver an agent's waiting messages now, if the agent can take them.

    `listing` has the tmux panes. Returns, for people, why a message still waits; "" when none waits, or when the agent
    has ended.
    """
    known = context.store.read(lambda rows: q.heard_agent(rows, dispatch=dispatch))
    waits = _waiting_messages(context, dispatch)
    if known is None or not waits:
        return ""
    now = context.world.clock.now()
    if not is_own(context, known):
        return f"the agent belongs to {owner_of(context, known)}"
    engine = _engine_or_none(context, known)
    listens = engine is not None and engine.hooks is not None and known.heartbeat_at is not None
    later = _why_later(context, known, listens=listens)
    if later:
        return later
    if engine and engine.hooks and engine.hooks.wakes and listens and now - waits[0].sent_at < _WAKE_TIME:
        return "the agent is woken in a moment"
    if engine is None:
        return f"the agent's engine is not known; {INBOX}"
    return _type_message(context, dispatch, engine, listing, hooked=listens)


def _waiting_messages(context: Context, dispatch: str) -> list[WaitingMessage]:
    """Return the agent's messages that wait to be delivered now, oldest first."""
    return context.store.read(lambda rows: messages.waiting(rows, dispatch, context.world.clock.now()))


def _engine_or_none(context: Context, known: LivingAgent) -> Engine | None:
    """Return the agent's engine; None when the engine's file is missing or broken."""
    try:
        return read_engine(context.world.home, known.engine)
    except errors.FleetError:
        return None


def _why_later(context: Context, known: LivingAgent, *, listens: bool) -> str:
    """Return why the agent gets its messages later (it is busy, or a budget has stopped it); "" when it can get them now.

    `listens`: whether the agent's hooks report to fleet, so that its state is known.
    """
    if listens and known.state not in QUIET:
        return _why_busy(known)
    parked = why_parked(context.by, context.world.home, known)
    return f"the agent gets the message when it may go on: {parked}" if parked else ""


def _why_busy(known: LivingAgent) -> str:
    """Return the sentence that tells when a busy agent will get its message."""
    if known.state == "asks":
        return "the agent waits for an answer to its question and gets the message after that"
    if known.state == "ended":
        return "the agent's session is ending"
    return "the agent is busy and gets the message with its next tool result, or when its turn ends"


def _type_message(context: Context, dispatch: str, engine: Engine, listing: Listing, *, hooked: bool) -> str:
    """Type the oldest waiting message into the agent's terminal, if its screen shows an empty input box.

    Returns, for people, why a message still waits; "" when none waits. Without `hooked`, no hook will acknowledge the
    message, so it is recorded as acknowledged at once.
    """
    pane = listing.pane_of(dispatch)
    if pane is None or pane.dead:
        return f"tmux does not show the agent's session; {INBOX}"
    screen = context.world.tmux.capture(pane, history=False) or ""
    if not has_box(engine, screen):
        state, _question = state_of(engine, screen)
        shown = "is not recognised" if state == "unknown" else f"says {state.replace('_', ' ')}"
        return f"nothing is typed while the agent's screen {shown}; {INBOX}"
    handed_out = context.commit(messages.mark_handed_out(dispatch, "typed", most=1))
    if handed_out and not context.world.tmux.paste(pane, messages.line(handed_out[0])):
        return NOT_TAKEN
    if handed_out and not hooked:  # otherwise the hook of the prompt event acknowledges what arrived
        context.commit(messages.acknowledge(dispatch, [handed_out[0].id]))
    return "more messages wait; fleet types one at a time" if _waiting_messages(context, dispatch) else ""
