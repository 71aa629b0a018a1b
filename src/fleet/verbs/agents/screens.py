"""Watch screens: record a limit or failed turn that a screen shows, for engines that have no hook for it.

The effect is the same as that of a hook: a limit holds the engine back, a failed turn is continued. The words stay on
the screen, so they count once, and again only after a message was sent to the agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.engines.hooks import states_without_hook
from fleet.engines.reader import engine as read_engine
from fleet.engines.reader import state_of
from fleet.model.dispatch.steps import is_ending
from fleet.model.text.times import SECOND
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.agents.cost import record_limits
from fleet.verbs.agents.hook import record_agent
from fleet.verbs.homes.ownership import is_own

if TYPE_CHECKING:
    from fleet.engines.reader import Engine
    from fleet.store.queries import LivingAgent
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.world.tmux import Listing

# The states that are recorded from a screen, and those which show that the agent's turn is over.
TROUBLES = frozenset({"limit", "failed_turn"})
_TURN_ENDED = frozenset({"finished", "idle"})
# How long a screen may take to show the reaction to the last message.
_SETTLED = 10 * SECOND


def watch(context: Context, project: str) -> list[str]:
    """Look at the screens of a project's agents, and record a limit or failed turn for which their engine has no hook.

    Returns a line for people for each new limit or failed turn.
    """
    rows = context.store.read(lambda snapshot: q.living_agents(snapshot, project=project))
    watched = [(row, engine) for row in rows if (engine := _engine_to_watch(context, row)) is not None]
    if not watched:
        return []
    listing = context.world.tmux.listing()
    return [line for row, engine in watched if (line := _check_screen(context, row, engine, listing))]


def _engine_to_watch(context: Context, row: LivingAgent) -> Engine | None:
    """Return the agent's engine if only the screen, and no hook, shows limits or failed turns of the agent; else None.

    None also for an agent of another home, one that has reported or was asked to exit, and an engine that is not
    interactive or whose file is broken.
    """
    if is_ending(row) or not is_own(context, row):
        return None
    try:
        engine = read_engine(context.world.home, row.engine)
    except errors.FleetError:
        return None
    shown = {rule.state for rule in engine.screen}
    return engine if engine.interactive and TROUBLES & shown & states_without_hook(engine) else None


def _check_screen(context: Context, row: LivingAgent, engine: Engine, listing: Listing) -> str:
    """Look at the agent's screen: record a limit or failed turn that it shows, or that it shows none any more.

    Returns a line for people about a new one, else "".
    """
    pane = listing.pane_of(row.dispatch)
    text = context.world.tmux.capture(pane, history=False) if pane else None
    state, words = state_of(engine, text or "")
    detail = " ".join(words.split())
    if state in TROUBLES and _is_new_trouble(context, row, state, detail):
        context.commit(_record_trouble(row, state, detail))
        return f"{row.dispatch}: {state.replace('_', ' ')}, {detail}"
    if state not in {*TROUBLES, "unknown"} and row.state in TROUBLES and row.heartbeat_at is None:
        context.commit(_clear_trouble(row, over=state in _TURN_ENDED))
    return ""


def _is_new_trouble(context: Context, row: LivingAgent, state: str, detail: str) -> bool:
    """Return whether a limit or failed turn on the screen is new: not recorded yet, or come again after a message.

    It has come again if a message was delivered after it was recorded, and it is on the screen more than ten seconds
    later.
    """
    if (row.state, row.detail) != (state, detail):
        return True
    last = context.store.read(lambda rows: q.last_said(rows, dispatch=row.dispatch)).at or 0
    return last > (row.state_at or 0) and context.world.clock.now() - last > _SETTLED


def _record_trouble(row: LivingAgent, state: str, detail: str) -> Change[None]:
    """Return the change that records a limit or failed turn seen on the agent's screen; a limit holds the engine back."""

    def work(tx: Tx) -> None:
        known = _living_agent(tx, row)
        if known is None:
            return
        if state == "limit":
            record_limits.hold_engine(tx, row.engine, "limit", detail)
        failed = known.failed_turns + 1 if state == "failed_turn" else 0
        record_agent(tx, known.replaced(state=state, detail=detail, state_at=tx.at, failed_turns=failed))
        tx.note(state=state, detail=detail, source="screen")

    return Change(f"the screen of {row.dispatch} shows: {state}", work)


def _clear_trouble(row: LivingAgent, *, over: bool) -> Change[None]:
    """Return the change that records that an agent works again after a limit or failed turn.

    When its turn is `over`, the change also lifts the engine's hold, if the hold's time has passed.
    """

    def work(tx: Tx) -> None:
        known = _living_agent(tx, row)
        if known is None:
            return
        failed = 0 if over else known.failed_turns
        record_agent(tx, known.replaced(state=None, detail=None, state_at=tx.at, failed_turns=failed))
        if over and record_limits.is_hold_over(q.hold_of(tx, engine=row.engine), tx.at):
            q.lift_hold(tx, engine=row.engine)
            tx.note(lifted=row.engine)

    return Change(f"the screen of {row.dispatch} shows no trouble any more", work)


def _living_agent(tx: Tx, row: LivingAgent) -> LivingAgent | None:
    """Return the agent as the store has it now; None when it has ended."""
    known = q.heard_agent(tx, dispatch=row.dispatch)
    if known is not None:
        tx.about(known.project, known.slug)
    return known
