"""Refuse engines that are held back, and continue agents after a failed turn or a usage limit.

One limit must not make a hundred agents fail: it holds its engine back for the whole fleet. After the reset one
dispatch is let through as a trial; the others follow when its model has answered or it has run for a minute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fleet import errors
from fleet.model.agents.activity.hook_events import HELD, is_continued
from fleet.model.dispatch.may_start import has_coordinator, why_held, why_used_up
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.results.engines import HeldEngine, Lifted, Limits, QuotaView
from fleet.model.text.times import MINUTE, SECOND, iso, iso_or_none
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.agents import messages, questions
from fleet.verbs.agents.deliver import deliver
from fleet.verbs.coord.seat_status import seat_status
from fleet.verbs.homes.ownership import is_own

if TYPE_CHECKING:
    from fleet.store.queries import Hold, LivingAgent
    from fleet.store.transaction import Rows, Tx
    from fleet.verbs.context import Context

# How long a trial has to run to count as successful when its engine has no hooks.
TRIAL = MINUTE
# How long an agent may take to answer a message.
_ANSWER_TIME = 10 * MINUTE
# Seconds to wait before a failed turn is continued: after the first failure, the second, …
REST = (10, 30, 60, 120, 300)
GO_ON = "The last turn was ended by an error of the API ({why}). Go on where you were."
RESET = "The usage limit has been reset. Go on where you were."
LOGGED_IN = "The login works again. Go on where you were."
_CONTINUE = {"limit": RESET, "login": LOGGED_IN}


def refuse_held(tx: Tx, engine: str, dispatch: str, *, quota_percent: int = 100) -> None:
    """Raise EngineHeld when an engine is held back; after a limit's reset let one dispatch through as the trial."""
    why = why_engine_held(tx, engine, tx.at, quota_percent=quota_percent)
    if why is not None:
        raise why
    held = q.hold_of(tx, engine=engine)
    if held is not None:
        _admit_trial(tx, held, dispatch)


def why_engine_held(rows: Rows, engine: str, now: int, *, quota_percent: int) -> errors.EngineHeld | None:
    """Return why no agent is started on an engine; None when one may start, as the trial after a limit perhaps."""
    held = q.hold_of(rows, engine=engine)
    if held is None:
        return why_used_up(engine, q.quotas_of(rows, engine=engine), now, quota_percent)
    why = why_held(engine, held.kind, held.reason, held.until, now)
    return why or _why_on_trial(rows, held, now)


def _why_on_trial(rows: Rows, held: Hold, now: int) -> errors.EngineHeld | None:
    """Return the refusal while a trial of the engine has neither succeeded nor ended; None when there is no such trial."""
    trying = q.dispatch_by_id(rows, id=held.trial or "")
    if trying is None or not is_unfinished(trying):
        return None
    if trying.launched_at is not None and now - max(trying.launched_at, held.tried_at or 0) >= TRIAL:
        return None
    advice = f"{held.trial} tries whether it is over; the others follow when its model has answered"
    return errors.EngineHeld(engine=held.engine, reason=held.reason, advice=advice)


class Held(NamedTuple):
    """An engine that is held back, and why."""

    engine: str
    reason: str


def choose_engine(
    rows: Rows, choices: tuple[str, ...], *, at: int, quota_percent: int = 100
) -> tuple[str, Held | None]:
    """Return the first engine that is not held back, and the first choice when another one takes its place.

    When all are held back, return the first choice: starting an agent on it says until when.
    """
    first, *_others = choices
    for name in choices:
        if why_engine_held(rows, name, at, quota_percent=quota_percent) is None:
            break
    else:
        return first, None
    refusal = why_engine_held(rows, first, at, quota_percent=quota_percent)
    return name, None if refusal is None else Held(first, str(refusal))


def _admit_trial(tx: Tx, held: Hold, dispatch: str) -> None:
    """Make the dispatch the trial of a held engine; lift the hold when an earlier trial works."""
    engine, trial = held.engine, held.trial
    trying = q.dispatch_by_id(tx, id=trial or "")
    if trying is not None and is_unfinished(trying):
        q.lift_hold(tx, engine=engine)
        tx.note(lifted=engine)
        return
    q.try_engine(tx, engine=engine, dispatch=dispatch, was=trial, at=tx.at)
    tx.note(trial_of=engine)


def limits(rows: Rows) -> Limits:
    """Return the engines that are held back, and how much of each quota window is used."""
    return Limits(
        holds=[_held_engine(row) for row in q.every_hold(rows)],
        quotas=[
            QuotaView.made_of(row, resets_at=iso_or_none(row.resets_at), at=iso(row.at)) for row in q.all_quotas(rows)
        ],
    )


def _held_engine(row: Hold) -> HeldEngine:
    times = {"since": iso(row.since), "until": iso_or_none(row.until), "tried_at": iso_or_none(row.tried_at)}
    return HeldEngine.made_of(row, **times)


def lift(engine: str) -> Change[None]:
    """Lift the hold of an engine that was seen to work again."""

    def work(tx: Tx) -> None:
        tx.note(lifted=engine)
        q.lift_hold(tx, engine=engine)

    return Change(f"lift the hold of {engine}", work)


def try_again(context: Context, engine: str) -> Lifted:
    """Try a held engine because a person says that it works again, and continue what its hold has stopped.

    One agent continues first. The others follow, by the ticks of their coordinators, when its model has answered; where
    nobody coordinates, they follow when a person tries again.
    """
    lifted = context.commit(_end_hold_now(engine))
    stopped = stopped_by_hold(context, engine)
    for project in sorted({agent.project for agent in stopped}):
        tend(context, project)
    held = context.store.read(lambda rows: q.hold_of(rows, engine=engine))
    first = [agent.dispatch for agent in stopped if held is None or held.trial == agent.dispatch]
    others = [agent for agent in stopped if agent.dispatch not in first]
    alone = {
        name for name in {agent.project for agent in others} if not has_coordinator(seat_status(context, name).state)
    }
    return Lifted(
        engine=engine,
        lifted=lifted,
        continued=first,
        waiting=[agent.dispatch for agent in others],
        unattended=[agent.dispatch for agent in others if agent.project in alone],
    )


def _end_hold_now(engine: str) -> Change[bool]:
    """Let a hold end now: the next agent is the trial. The work returns whether the engine was held."""

    def work(tx: Tx) -> bool:
        tx.note(tried=engine)
        return q.end_hold(tx, engine=engine, at=tx.at) == 1

    return Change(f"try {engine} again", work)


def stopped_by_hold(context: Context, engine: str) -> list[LivingAgent]:
    """Return the agents of this home that a limit or a failed login of the engine has stopped, oldest first."""
    agents = context.store.read(lambda rows: q.living_agents(rows, project=None))
    stopped = [row for row in agents if row.engine == engine and row.state in HELD and is_own(context, row)]
    return [row for row in stopped if not row.report and not row.asked_for]


# what the coordinator does at each tick ------------------------------------------------------------------------------
def tend(context: Context, project: str) -> list[str]:
    """Remind agents to continue, deliver messages, close questions of ended agents.

    Returns a line for each reminder.
    """
    reminded = []
    if context.store.read(q.orphaned_questions).n:
        context.commit(questions.close_orphans())
    agents = context.store.read(lambda rows: q.living_agents(rows, project=project))
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
    """Whether a message with exactly this text already waits for the agent."""
    rows = context.store.read(lambda snapshot: q.waiting_messages(snapshot, dispatch=agent.dispatch))
    return any(row.text == words for row in rows)


def _reminder(context: Context, agent: LivingAgent) -> str:
    """Return the message that makes an agent continue after a failed turn or a limit; empty when none is due now."""
    now = context.world.clock.now()
    if agent.report or agent.asked_for:
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
    """Whether the agent got a message since its last state, less than ten minutes ago, and may still answer it."""
    last = context.store.read(lambda rows: q.last_said(rows, dispatch=agent.dispatch)).at
    return last is not None and last > (agent.state_at or 0) and now - last < _ANSWER_TIME


def _may_continue(context: Context, agent: LivingAgent, now: int) -> bool:
    """Whether an agent may continue after a limit: the hold is lifted, or this agent is or becomes the trial."""
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
    """Make a running agent the trial of its engine; EngineHeld when another dispatch is the trial."""

    def work(tx: Tx) -> None:
        tx.dispatch = agent.dispatch
        refuse_held(tx, agent.engine, agent.dispatch)

    return Change(f"{agent.dispatch} tries whether the limit of {agent.engine} is over", work)
