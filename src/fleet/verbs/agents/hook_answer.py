"""Wait in a hook: for the answer to an agent's question, or for messages to wake an idle agent with.

The wait is bounded by the engine's own time limit, and ends soon after the agent continues or is gone.
"""

from __future__ import annotations

from fleet.model.agents import questions
from fleet.model.agents.activity.hook_events import QUIET, HookReport, agent_after_report
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.agents import messages
from fleet.verbs.agents.hook import permission, record_agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.agents.dialect import Payload
    from fleet.model.results.reports import Received
    from fleet.store.queries import LivingAgent
    from fleet.store.transaction import Tx
    from fleet.verbs.agents.hook import HookEvent
    from fleet.world.clock import Clock

LOOK_AGAIN = 0.25
_LOOKS = 4
# How long the hook that reports the stop, which runs beside this one, may take to record that the agent is idle.
SETTLING = 20.0
_SAID_NO = "A person has said no to this"


def wait_for_answer(event: HookEvent, ident: str, clock: Clock, is_agent_gone: Callable[[], bool]) -> Payload | None:
    """Wait for an answer and return it as the engine reads it; None when none came or the question was closed."""
    until = clock.ticks() + event.dialect.wait
    while clock.ticks() < until and not is_agent_gone():
        row = event.by.store.read(lambda rows: q.question_by_id(rows, id=ident))
        if row is None or row.closed_at is not None:
            return None
        if row.answer is not None:
            return _take_answer(event, ident, row.answer, clock.now())
        clock.wait(LOOK_AGAIN)
    if event.by.commit(_give_up_question(event, ident)):
        return None
    row = event.by.store.read(lambda rows: q.question_by_id(rows, id=ident))  # the answer came in the last moment
    if row is None or row.closed_at is not None or row.answer is None:
        return None
    return _take_answer(event, ident, row.answer, clock.now())


def _give_up_question(event: HookEvent, ident: str) -> Change[bool]:
    """Close a question that nobody waits for any more; the work returns False when an answer was given."""

    def work(tx: Tx) -> bool:
        tx.note(question=ident, taken=False)
        return q.close_unanswered(tx, id=ident, at=tx.at) == 1

    return Change(f"question over: {ident} of {event.dispatch}", work)


def _take_answer(event: HookEvent, ident: str, answer: str, at: int) -> Payload | None:
    """Close an answered question and return the answer for the engine; None when the question was closed before."""

    def work(tx: Tx) -> bool:
        closed = q.close_question(tx, id=ident, at=tx.at) == 1
        agent = q.heard_agent(tx, dispatch=event.dispatch)
        after = agent_after_report(agent, HookReport(at, state="working")) if agent is not None and closed else None
        if after is not None and not q.open_questions(tx, dispatch=event.dispatch):
            record_agent(tx, after)
        tx.note(question=ident, taken=True)
        return closed

    closed = event.by.commit(Change(f"answer taken: {ident} of {event.dispatch}", work))
    return _answer_payload(event, questions.answer_of(answer)) if closed else None


def _answer_payload(event: HookEvent, answer: questions.Answer) -> Payload:
    if answer.answers is not None:
        whole = event.dialect.field(event.payload, "input") or {}
        decision = {"behavior": "allow", "updatedInput": {**whole, "answers": answer.answers}}
    elif answer.allow:
        return permission(event.name)
    else:
        reason = f"{_SAID_NO}: {answer.reason}" if answer.reason else f"{_SAID_NO}."
        decision = {"behavior": questions.DENY, "message": reason}
    return {"hookSpecificOutput": {"hookEventName": event.name, "decision": decision}}


def wait_for_messages(event: HookEvent, clock: Clock, is_agent_gone: Callable[[], bool]) -> list[Received]:
    """Wait beside an idle agent for messages; empty when the agent continues by itself, ends, or time is up."""
    begun, until = clock.ticks(), clock.ticks() + event.dialect.wait
    while clock.ticks() < until:
        known = event.known()
        if known is None:
            return []
        quiet = known.agent.state in QUIET
        if not quiet and clock.ticks() > begun + SETTLING:
            return []
        may_wake = quiet and known.waiting and not _is_parked(event, known.agent)
        received = event.by.commit(messages.take(event.dispatch, "woken")) if may_wake else []
        if received or _is_gone_within_second(clock, is_agent_gone):
            return received
    return []


def _is_parked(event: HookEvent, agent: LivingAgent) -> bool:
    """Whether a spent budget keeps the agent stopped, with its messages."""
    if agent.state != "over_budget":
        return False
    from fleet.verbs.agents.cost.parked import why_parked  # noqa: PLC0415 - only a spent budget needs the settings

    return why_parked(event.by, event.home, agent) != ""


def _is_gone_within_second(clock: Clock, is_agent_gone: Callable[[], bool]) -> bool:
    """Whether the agent is gone; looks for one second."""
    for _ in range(_LOOKS):
        if is_agent_gone():
            return True
        clock.wait(LOOK_AGAIN)
    return False
