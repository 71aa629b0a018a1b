"""Wait inside a hook: for the answer to an agent's question, or for messages that wake an idle agent.

The engine's own time limit bounds the wait. The wait ends soon after the agent continues or is gone.
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

# Seconds between two looks, and how many looks make a second.
LOOK_AGAIN = 0.25
_LOOKS = 4
# Seconds that the hook which reports the stop, and runs beside this one, may take to record that the agent is idle.
SETTLING = 20.0
_SAID_NO = "A person has said no to this"


class Looked(Value):
    """The result of one look for the answer to a question.

    `over`: whether the wait is over. `payload`: the answer as JSON for the engine, None when there is none.
    """

    over: bool
    payload: Payload | None = None


class Woken(Value):
    """The result of one look for messages to an idle agent.

    `over`: whether the wait is over. `text`: what wakes the agent, '' for nothing. `messages`: the ids of the messages in
    the text.
    """

    over: bool
    text: str = ""
    messages: tuple[str, ...] = ()


def wait_for_answer(event: HookEvent, ident: str, clock: Clock, is_agent_gone: Callable[[], bool]) -> Payload | None:
    """Wait until a person answers a question of the agent. Returns the answer as JSON for the engine.

    Returns None when no answer came within the engine's limit, when the question was closed, or when the agent is gone.
    """
    until = clock.ticks() + event.dialect.wait
    while clock.ticks() < until and not is_agent_gone():
        looked = look_for_answer(event, ident, clock)
        if looked.over:
            return looked.payload
        clock.wait(LOOK_AGAIN)
    return give_up(event, ident, clock).payload


def look_for_answer(event: HookEvent, ident: str, clock: Clock) -> Looked:
    """Look once for the answer to a question of the agent.

    If a person has answered, close the question and return the answer. The wait is over, without an answer, when the
    question is closed already or is not a question of this agent.
    """
    row = event.by.store.read(lambda rows: q.question_by_id(rows, id=ident))
    if row is None or row.dispatch != event.dispatch:
        return Looked(over=True)
    if row.answer is None:
        return Looked(over=row.closed_at is not None)
    return Looked(over=True, payload=_take_answer(event, ident, row.answer, clock.now()))


def give_up(event: HookEvent, ident: str, clock: Clock) -> Looked:
    """Close a question for whose answer no hook waits any more; return the answer if one came at the last moment.

    The wait is over in the result, with or without an answer.
    """
    looked = look_for_answer(event, ident, clock)
    if looked.over or event.by.commit(_give_up_question(event, ident)):
        return Looked(over=True, payload=looked.payload)
    return look_for_answer(event, ident, clock)


def _give_up_question(event: HookEvent, ident: str) -> Change[bool]:
    """Return the change that closes an unanswered question.

    Committing it returns False when the question is answered or closed already.
    """

    def work(tx: Tx) -> bool:
        tx.note(question=ident, taken=False)
        return q.close_unanswered(tx, id=ident, at=tx.at) == 1

    return Change(f"question over: {ident} of {event.dispatch}", work)


def _take_answer(event: HookEvent, ident: str, answer: str, at: int) -> Payload | None:
    """Close an answered question and return the answer as JSON for the engine; None when the question was closed already."""

    def work(tx: Tx) -> bool:
        closed = q.close_question(tx, id=ident, at=tx.at) == 1
        agent = q.heard_agent(tx, dispatch=event.dispatch)
        after = agent_after_report(agent, HookReport(at, state="working")) if agent is not None and closed else None
        if after is not None and not q.open_questions(tx, dispatch=event.dispatch):
            record_agent(tx, after)
        tx.note(question=ident, taken=closed)
        return closed

    # A repeated request, whose first reply was lost, gets the stored True although the question is closed by now.
    closed = event.by.commit(Change(f"answer taken: {ident} of {event.dispatch}", work))
    return _answer_payload(event, questions.answer_of(answer)) if closed else None


def _answer_payload(event: HookEvent, answer: questions.Answer) -> Payload:
    """Return a person's answer (choices, permission or refusal) as the JSON that the engine reads."""
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
    """Wait beside an idle agent for messages, and take them.

    Returns an empty list when the agent continues by itself, when it ends, or when the time is up.
    """
    begun, until = clock.ticks(), clock.ticks() + event.dialect.wait
    while clock.ticks() < until:
        received = look_for_messages(event, settling=clock.ticks() <= begun + SETTLING)
        if received is None:
            return []
        if received or _is_gone_within_second(clock, is_agent_gone):
            return received
    return []


def look_for_messages(event: HookEvent, *, settling: bool) -> list[Received] | None:
    """Look once for messages to an idle agent, and take them.

    Returns an empty list when the agent gets none now; None when the wait is over, because the agent is not idle or has
    ended. `settling` is True while the hook that reports the stop may not yet have recorded that the agent is idle.
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
    taken = event.by.commit(messages.mark_handed_out(event.dispatch, "woken"))
    return list(map(_received, taken))


def _received(given: object) -> Received:
    """Return a taken message as `Received`.

    `given` is a `Received`, or its JSON when a repeated request got the stored result.
    """
    return given if isinstance(given, Received) else Received.from_json(given)


def _is_parked(event: HookEvent, agent: LivingAgent) -> bool:
    """Return whether a spent budget keeps the agent stopped, so that its messages wait."""
    if agent.state != "over_budget":
        return False
    from fleet.verbs.agents.cost.budgets import why_parked  # noqa: PLC0415 - only a spent budget needs the settings

    return why_parked(event.by, event.home, agent) != ""


def _is_gone_within_second(clock: Clock, is_agent_gone: Callable[[], bool]) -> bool:
    """Return whether the agent is gone, checking repeatedly for one second."""
    for _ in range(_LOOKS):
        if is_agent_gone():
            return True
        clock.wait(LOOK_AGAIN)
    return False
