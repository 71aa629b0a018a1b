"""Wait in a hook: for the answer to an agent's question, or for messages to wake an idle agent with.

The wait is bounded by the engine's own time limit, and ends soon after the agent continues or is gone.
"""

from __future__ import annotations

from fleet.model.agents import questions
from fleet.model.agents.activity.hook_events import QUIET, HookReport, agent_after_report
from fleet.model.results.reports import Received
from fleet.model.results.value import Value
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.agents import messages
from fleet.verbs.agents.hook import permission, record_agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.agents.dialect import Payload
    from fleet.store.queries import LivingAgent
    from fleet.store.transaction import Tx
    from fleet.verbs.agents.hook import HookEvent
    from fleet.world.clock import Clock

LOOK_AGAIN = 0.25
_LOOKS = 4
# How long the hook that reports the stop, which runs beside this one, may take to record that the agent is idle.
SETTLING = 20.0
_SAID_NO = "A person has said no to this"


class Looked(Value):
    """What a look for the answer to a question found: whether the wait is over, and the answer as the engine reads it."""

    over: bool
    payload: Payload | None = None


class Woken(Value):
    """What a look for messages to an idle agent found: whether the wait is over, the text that wakes it, the messages' ids."""

    over: bool
    text: str = ""
    messages: tuple[str, ...] = ()


def wait_for_answer(event: HookEvent, ident: str, clock: Clock, is_agent_gone: Callable[[], bool]) -> Payload | None:
    """Wait for an answer and return it as the engine reads it; None when none came or the question was closed."""
    until = clock.ticks() + event.dialect.wait
    while clock.ticks() < until and not is_agent_gone():
        looked = look_for_answer(event, ident, clock)
        if looked.over:
            return looked.payload
        clock.wait(LOOK_AGAIN)
    return give_up(event, ident, clock).payload


def look_for_answer(event: HookEvent, ident: str, clock: Clock) -> Looked:
    """Look once for the answer to a question of the agent, and take it."""
    row = event.by.store.read(lambda rows: q.question_by_id(rows, id=ident))
    if row is None or row.dispatch != event.dispatch:
        return Looked(over=True)
    if row.answer is None:
        return Looked(over=row.closed_at is not None)
    return Looked(over=True, payload=_take_answer(event, ident, row.answer, clock.now()))


def give_up(event: HookEvent, ident: str, clock: Clock) -> Looked:
    """Close a question that nobody waits for any more; take the answer if it came in the last moment."""
    looked = look_for_answer(event, ident, clock)
    if looked.over or event.by.commit(_give_up_question(event, ident)):
        return Looked(over=True, payload=looked.payload)
    return look_for_answer(event, ident, clock)


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
        tx.note(question=ident, taken=closed)
        return closed

    # Of a question that is closed: the same request may have taken the answer before, and its reply was lost.
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
        received = look_for_messages(event, settling=clock.ticks() <= begun + SETTLING)
        if received is None:
            return []
        if received or _is_gone_within_second(clock, is_agent_gone):
            return received
    return []


def look_for_messages(event: HookEvent, *, settling: bool) -> list[Received] | None:
    """Look once for messages to an idle agent, and take them; None when nobody has to wait for them any more.

    With `settling`, the hook that reports the stop may not have recorded yet that the agent is idle.
    """
    known = event.known()
    if known is None:
        return None
    quiet = known.agent.state in QUIET
    if not quiet and not settling:
        return None
    may_wake = quiet and known.waiting and not _is_parked(event, known.agent)
    if not may_wake:
        return []
    taken = event.by.commit(messages.take(event.dispatch, "woken"))
    return list(map(_received, taken))


def _received(given: object) -> Received:
    """Return a message that was taken; a repeated request gets the stored result, which is JSON."""
    return given if isinstance(given, Received) else Received.from_json(given)


def _is_parked(event: HookEvent, agent: LivingAgent) -> bool:
    """Whether a spent budget keeps the agent stopped, with its messages."""
    if agent.state != "over_budget":
        return False
    from fleet.verbs.agents.cost.budgets import why_parked  # noqa: PLC0415 - only a spent budget needs the settings

    return why_parked(event.by, event.home, agent) != ""


def _is_gone_within_second(clock: Clock, is_agent_gone: Callable[[], bool]) -> bool:
    """Whether the agent is gone; looks for one second."""
    for _ in range(_LOOKS):
        if is_agent_gone():
            return True
        clock.wait(LOOK_AGAIN)
    return False
