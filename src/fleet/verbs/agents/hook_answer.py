"""What a hook waits for: the answer to its agent's question, or something to tell an agent that sits at its prompt.

The waiting is bounded by the engine's own limit, and ends when the agent goes on or is gone: nothing outlives it for long.
"""

from __future__ import annotations

from fleet.model.agents import questions
from fleet.model.agents.hook_events import QUIET, Heard, weighed
from fleet.model.text import jsontext
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.agents import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from fleet.store.queries import AskedQuestion
    from fleet.store.transaction import Row, Tx
    from fleet.verbs.agents.hook import Desk
    from fleet.world.clock import Clock

LOOK_AGAIN = 0.25
_LOOKS = 4
# The stop that made the agent idle is told by a hook beside this one; so long it may take.
SETTLING = 20.0
_SAID_NO = "A person has said no to this"


def answered(desk: Desk, ident: str, clock: Clock, is_alone: Callable[[], bool]) -> Row | None:
    """Wait for the answer to a question, and say it as the engine reads it; None when there is nothing to say."""
    until = clock.ticks() + desk.dialect.wait
    while clock.ticks() < until and not is_alone():
        row = desk.store.read(lambda rows: q.question_by_id(rows, id=ident))
        if row is None or row.closed_at is not None:
            return None
        if row.answer is not None:
            return _said(desk, row) if desk.by.commit(_taken(desk, ident, clock.now()))["taken"] else None
        clock.wait(LOOK_AGAIN)
    if desk.by.commit(_given_up(desk, ident))["taken"]:
        return None
    row = desk.store.read(lambda rows: q.question_by_id(rows, id=ident))  # it came with the last tick
    if row is None or row.closed_at is not None or row.answer is None:
        return None
    return _said(desk, row) if desk.by.commit(_taken(desk, ident, clock.now()))["taken"] else None


def _given_up(desk: Desk, ident: str) -> Change[Row]:
    """Nobody waits for the answer any more, if none has been given."""

    def work(tx: Tx) -> Row:
        taken = q.close_unanswered(tx, id=ident, at=tx.at)
        tx.note(question=ident, taken=False)
        return {"taken": taken == 1}

    return Change(f"question over: {ident} of {desk.dispatch}", work)


def _taken(desk: Desk, ident: str, at: int) -> Change[Row]:
    """The question is over, because the agent has its answer and goes on."""

    def work(tx: Tx) -> Row:
        taken = q.close_question(tx, id=ident, at=tx.at)
        known = q.heard_agent(tx, dispatch=desk.dispatch)
        after = weighed(known, Heard(at, state="working")) if known and taken else None
        if after is not None and not q.open_questions(tx, dispatch=desk.dispatch):
            q.learn_agent(tx, **after)
        tx.note(question=ident, taken=True)
        return {"taken": taken == 1}

    return Change(f"answer taken: {ident} of {desk.dispatch}", work)


def _said(desk: Desk, row: AskedQuestion) -> Row:
    given: Any = jsontext.loads(row.answer)
    if "answers" in given:
        whole = desk.dialect.field(desk.told, "input") or {}
        decision = {"behavior": "allow", "updatedInput": {**whole, "answers": given["answers"]}}
    elif given["allow"]:
        decision = {"behavior": questions.ALLOW}
    else:
        reason = f"{_SAID_NO}: {given['reason']}" if given["reason"] else f"{_SAID_NO}."
        decision = {"behavior": questions.DENY, "message": reason}
    return {"hookSpecificOutput": {"hookEventName": desk.event, "decision": decision}}


def something_to_say(desk: Desk, clock: Clock, is_alone: Callable[[], bool]) -> list[Row]:
    """Wait beside an idle agent for a message; nothing when it goes on by itself, or ends."""
    begun, until = clock.ticks(), clock.ticks() + desk.dialect.wait
    while clock.ticks() < until:
        known = desk.known()
        if known is None:
            return []
        quiet = known["state"] in QUIET
        if not quiet and clock.ticks() > begun + SETTLING:
            return []
        found: list[Row] = (
            desk.by.commit(messages.taken(desk.dispatch, "woken"))["messages"] if quiet and known["waiting"] else []
        )
        if found or _left_alone(clock, is_alone):
            return found
    return []


def _left_alone(clock: Clock, is_alone: Callable[[], bool]) -> bool:
    """Let a second pass; whether the agent went meanwhile."""
    for _ in range(_LOOKS):
        if is_alone():
            return True
        clock.wait(LOOK_AGAIN)
    return False
