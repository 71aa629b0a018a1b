"""Send reminders that make agents continue after a failed turn, a usage limit or a failed login of their engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.engines import reader
from fleet.model.agents.activity.hook_events import HELD, is_continued
from fleet.model.dispatch.may_start import has_coordinator
from fleet.model.dispatch.steps import is_ending
from fleet.model.results.engines import Lifted
from fleet.model.text.times import MINUTE, SECOND
from fleet.store import queries as q
from fleet.store import seats
from fleet.store.transaction import Change
from fleet.verbs.agents import messages, questions
from fleet.verbs.agents.cost.apply_holds import refuse_held
from fleet.verbs.agents.deliver import deliver
from fleet.verbs.coord.seat_status import seat_status
from fleet.verbs.homes.ownership import is_own

if TYPE_CHECKING:
    from fleet.store.queries import LivingAgent
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context

# How long after a message no reminder is sent, because the agent may still be answering.
_ANSWER_TIME = 10 * MINUTE
# Seconds to wait before a failed turn is continued: after the first failure, the second, …
REST = (10, 30, 60, 120, 300)
GO_ON = "The last turn was ended by an error of the API ({why}). Go on where you were."
RESET = "The usage limit has been reset. Go on where you were."
LOGGED_IN = "The login works again. Go on where you were."
_CONTINUE = {"limit": RESET, "login": LOGGED_IN}


def try_engine_again(context: Context, engine: str) -> Lifted:
    """End the hold of an engine because a person says that it works again; remind the agents it had stopped.

    One agent continues first, as the trial. When its model has answered, the ticks of the coordinators remind the other
    agents; in a project without a coordinator of this home, these wait until a person does this again. Raises Absent for an unknown
    name, except when an engine of this name still has a hold or stopped agents.
    """
    stopped = stopped_by_hold(context, engine)
    if not stopped and context.store.read(lambda rows: q.hold_of(rows, engine=engine)) is None:
        reader.file_of(context.home, engine)
    lifted = context.commit(_end_hold_now(engine))
    for project in sorted({agent.project for agent in stopped}):
        continue_agents(context, project)
    held = context.store.read(lambda rows: q.hold_of(rows, engine=engine))
    first = [agent.dispatch for agent in stopped if held is None or held.trial == agent.dispatch]
    others = [agent for agent in stopped if agent.dispatch not in first]
    alone = {name for name in {agent.project for agent in others} if not has_own_coordinator(context, name)}
    return Lifted(
        engine=engine,
        lifted=lifted,
        continued=first,
        waiting=[agent.dispatch for agent in others],
        unattended=[agent.dispatch for agent in others if agent.project in alone],
    )


def _end_hold_now(engine: str) -> Change[bool]:
    """Return the change that ends a hold at once, so that the next agent becomes the trial.

    Committing it returns whether there was a hold.
    """

    def work(tx: Tx) -> bool:
        tx.note(tried=engine)
        return q.end_hold(tx, engine=engine, at=tx.at) == 1

    return Change(f"try {engine} again", work)


def stopped_by_hold(context: Context, engine: str) -> list[LivingAgent]:
    """Return the agents of this home that a usage limit or failed login of the engine has stopped, oldest first.

    Leaves out agents that have reported, or were asked to exit.
    """
    agents = context.store.read(lambda rows: q.living_agents(rows, project=None))
    stopped = [row for row in agents if row.engine == engine and row.state in HELD and is_own(context, row)]
    return [row for row in stopped if not is_ending(row)]


def has_own_coordinator(context: Context, project: str) -> bool:
    """Return whether a coordinator of this home that may be alive holds the project's seat."""
    holder = context.store.read(lambda rows: seats.holder_of(rows, project))
    is_ours = holder is not None and is_own(context, holder)
    return is_ours and has_coordinator(seat_status(context, project).state)


def continue_agents(context: Context, project: str) -> list[str]:
    """Remind this home's agents of a project to continue, deliver their messages, and close the questions of ended agents.

    Returns a line for people for each reminder.
    """
    reminded = []
    if context.store.read(q.orphaned_questions).n:
        context.commit(questions.close_orphans())
    living = context.store.read(lambda rows: q.living_agents(rows, project=project))
    agents = [agent for agent in living if is_own(context, agent)]
    for agent in agents:
        words = _reminder(context, agent)
        if words and not _is_waiting(context, agent, words):
            context.commit(messages.send(agent.dispatch, context.world.ids.dispatch(), words, kind="reminder"))
            reminded.append(f"{agent.dispatch}: {words}")
    if agents:
        listing = context.world.tmux.listing()
        for agent in agents:
            deliver(context, agent.dispatch, listing)
    return reminded


def _is_waiting(context: Context, agent: LivingAgent, words: str) -> bool:
    """Return whether a message with exactly this text already waits for the agent."""
    rows = context.store.read(lambda snapshot: q.waiting_messages(snapshot, dispatch=agent.dispatch))
    return any(row.text == words for row in rows)


def _reminder(context: Context, agent: LivingAgent) -> str:
    """Return the message that makes an agent continue; "" when no message is due now.

    One is due some time after a failed turn (see `REST`), but not after too many in a row, and when an agent that its
    engine's hold has stopped may continue. May record the agent as the trial: the one that tries whether the engine
    works.
    """
    now = context.world.clock.now()
    if is_ending(agent):
        return ""
    if agent.state == "failed_turn" and is_continued(agent.failed_turns):
        rest = REST[agent.failed_turns - 1] * SECOND
        why = (agent.detail or "").partition(":")[0]
        due = now - (agent.state_at or 0) >= rest and not _is_answering(context, agent, now)
        return GO_ON.format(why=why) if due else ""
    if agent.state in HELD and not _is_answering(context, agent, now) and _may_continue(context, agent, now):
        return _CONTINUE[agent.state]
    return ""


def _is_answering(context: Context, agent: LivingAgent, now: int) -> bool:
    """Return whether an agent may still be answering a message.

    It may for ten minutes after the message, unless its state has changed since.
    """
    last = context.store.read(lambda rows: q.last_said(rows, dispatch=agent.dispatch)).at
    return last is not None and last > (agent.state_at or 0) and now - last < _ANSWER_TIME


def _may_continue(context: Context, agent: LivingAgent, now: int) -> bool:
    """Return whether an agent that was stopped by its engine's hold may continue.

    It may when the hold is lifted, or when the agent is the trial of the engine. When the hold's time has passed and no
    other agent tries the engine, record this agent as the trial and return True. The hold of a failed login has no such
    time until a person says that the login works.
    """
    held = context.store.read(lambda rows: q.hold_of(rows, engine=agent.engine))
    if held is None or held.trial == agent.dispatch:
        return True
    if held.until is None or held.until > now:
        return False
    try:
        context.commit(_become_trial(agent))
    except errors.EngineHeld:
        return False
    return True


def _become_trial(agent: LivingAgent) -> Change[None]:
    """Return the change by which a running agent becomes the one that tries whether its engine works again.

    Committing it raises EngineHeld if another agent tries it already.
    """

    def work(tx: Tx) -> None:
        tx.dispatch = agent.dispatch
        refuse_held(tx, agent.engine, agent.dispatch)

    return Change(f"{agent.dispatch} tries whether the limit of {agent.engine} is over", work)
