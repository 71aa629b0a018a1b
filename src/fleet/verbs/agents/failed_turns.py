"""Limits: engines that are held back, and agents whose turns failed and are continued.

One quota failure must not start a hundred agents: a limit holds its engine back for the whole fleet until its reset; then one
tries, and when its model has answered, or it has run for a minute, the others follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.agents.hook_events import MOST_FAILED_TURNS
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.results.engines import HeldEngine, Lifted, Limits, QuotaView
from fleet.model.text.times import MINUTE, SECOND, iso, iso_or_none
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.agents import messages, questions
from fleet.verbs.agents.deliver import deliver

if TYPE_CHECKING:
    from fleet.store.queries import Hold, LivingAgent
    from fleet.store.transaction import Rows, Tx
    from fleet.verbs.context import Context

# How long a trial has to be in flight to count as alive when its engine has no hooks.
TRIAL = MINUTE
# So long what was said to an agent may be without an answer.
_ANSWER_TIME = 10 * MINUTE
# How long a failed turn rests before it is continued: the n-th for so many seconds.
REST = (10, 30, 60, 120, 300)
GO_ON = "The last turn was ended by an error of the API ({why}). Go on where you were."
RESET = "The usage limit has been reset. Go on where you were."


def refuse_held(tx: Tx, engine: str, dispatch: str, *, quota_percent: int = 100) -> None:
    """Refuse a dispatch of an engine that is held back; let one through as the trial after a reset."""
    held = q.hold_of(tx, engine=engine)
    if held is None:
        _refuse_used_up(tx, engine, quota_percent)
        return
    if held.kind == "login":
        advice = f"log in with the program itself, then say `fleet limits lift {engine}`"
        raise errors.EngineHeld(engine=engine, reason=held.reason, advice=advice)
    if held.until is not None and held.until > tx.at:
        raise errors.EngineHeld(engine=engine, reason=held.reason, advice=f"it is tried again at {iso(held.until)}")
    _admit_trial(tx, held, dispatch)


def _refuse_used_up(tx: Tx, engine: str, quota_percent: int) -> None:
    for row in q.quotas_of(tx, engine=engine):
        if row.percent >= quota_percent and row.resets_at is not None and row.resets_at > tx.at:
            reason = f"{row.percent} % of its window {row.span} is used"
            reset = f"it is reset at {iso(row.resets_at)}"
            advice = f"{reset}; limits.quota_percent in config.toml says how much may be used"
            raise errors.EngineHeld(engine=engine, reason=reason, advice=advice)


def _admit_trial(tx: Tx, held: Hold, dispatch: str) -> None:
    engine, trial = held.engine, held.trial
    trying = q.dispatch_by_id(tx, id=trial or "")
    if trying is not None and is_unfinished(trying):
        if trying.launched_at is None or tx.at - max(trying.launched_at, held.tried_at or 0) < TRIAL:
            advice = f"{trial} tries whether it is over; the others follow when its model has answered"
            raise errors.EngineHeld(engine=engine, reason=held.reason, advice=advice)
        q.lift_hold(tx, engine=engine)
        tx.note(lifted=engine)
        return
    q.try_engine(tx, engine=engine, dispatch=dispatch, was=trial, at=tx.at)
    tx.note(trial_of=engine)


def limits(rows: Rows) -> Limits:
    """Engines that are held back, and how much of their windows is used."""
    return Limits(
        holds=[_held_engine(row) for row in q.every_hold(rows)],
        quotas=[
            QuotaView.made_of(row, resets_at=iso_or_none(row.resets_at), at=iso(row.at)) for row in q.all_quotas(rows)
        ],
    )


def _held_engine(row: Hold) -> HeldEngine:
    times = {"since": iso(row.since), "until": iso_or_none(row.until), "tried_at": iso_or_none(row.tried_at)}
    return HeldEngine.made_of(row, **times)


def lift(engine: str) -> Change[Lifted]:
    """A person says that it works again."""

    def work(tx: Tx) -> Lifted:
        tx.note(lifted=engine)
        return Lifted(engine=engine, lifted=q.lift_hold(tx, engine=engine) == 1)

    return Change(f"lift the hold of {engine}", work)


# what the coordinator does each tick ----------------------------------------------------------------------------------
def tend(context: Context, project: str) -> list[str]:
    """Continue turns that failed and agents whose limit was reset, deliver what waits, close what nobody asks any more."""
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
    """Whether a message with these very words waits for the agent already; another reminder does not stand for them."""
    rows = context.store.read(lambda snapshot: q.waiting_messages(snapshot, dispatch=agent.dispatch))
    return any(row.text == words for row in rows)


def _reminder(context: Context, agent: LivingAgent) -> str:
    """What makes an agent go on whose turn failed or whose limit was reset; empty when nothing is to be said now."""
    now = context.world.clock.now()
    if agent.report or agent.asked_for:
        return ""
    if agent.state == "failed_turn" and 0 < agent.failed_turns <= MOST_FAILED_TURNS:
        rest = REST[agent.failed_turns - 1] * SECOND
        why = (agent.detail or "").partition(":")[0]
        due = now - (agent.state_at or 0) >= rest and not _is_answering(context, agent, now)
        return GO_ON.format(why=why) if due else ""
    if agent.state == "limit" and _may_continue(context, agent, now):
        return RESET
    return ""


def _is_answering(context: Context, agent: LivingAgent, now: int) -> bool:
    """Whether something was just said to it, and nobody has heard yet what came of that."""
    last = context.store.read(lambda rows: q.last_said(rows, dispatch=agent.dispatch)).at
    return last is not None and last > (agent.state_at or 0) and now - last < _ANSWER_TIME


def _may_continue(context: Context, agent: LivingAgent, now: int) -> bool:
    """After the reset: all, when the trial is over; else the one that becomes it."""
    held = context.store.read(lambda rows: q.hold_of(rows, engine=agent.engine))
    if held is None or held.trial == agent.dispatch:
        return True
    if held.kind != "limit" or (held.until or 0) > now:
        return False
    try:
        context.commit(_become_trial(agent))
    except errors.EngineHeld:
        return False
    return True


def _become_trial(agent: LivingAgent) -> Change[None]:
    def work(tx: Tx) -> None:
        tx.dispatch = agent.dispatch
        refuse_held(tx, agent.engine, agent.dispatch)

    return Change(f"{agent.dispatch} tries whether the limit of {agent.engine} is over", work)
