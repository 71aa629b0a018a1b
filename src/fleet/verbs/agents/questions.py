"""Questions of agents to a person. The first answer counts; a late one is told."""

from __future__ import annotations

from fleet.errors.absent import NoSuchQuestion
from fleet.errors.superseded import AnsweredBefore
from fleet.model.agents import questions
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.text import jsontext
from fleet.model.text.times import iso
from fleet.store import queries as q
from fleet.store.transaction import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.store.queries import AskedQuestion, OpenQuestion
    from fleet.store.transaction import Row, Rows, Tx


def add(tx: Tx, ident: str, dispatch: str, asked: questions.Question, *, at: int) -> None:
    """Write a question down."""
    choices = jsontext.dumps(asked.choices)
    given = {"kind": asked.kind, "text": asked.text, "command": asked.command, "choices": choices}
    q.add_question(tx, id=ident, dispatch=dispatch, at=at, **given)
    tx.note(question=ident, text=asked.text)


def listed(rows: Rows, dispatch: str | None = None) -> list[Row]:
    """What is asked and waits for an answer, oldest first."""
    return [document(row) for row in q.open_questions(rows, dispatch=dispatch)]


def document(row: OpenQuestion) -> Row:
    """One question, for people and programs."""
    choices: Any = jsontext.loads(row.choices)
    return {
        "id": row.id,
        "agent": row.dispatch,
        "project": row.project,
        "task": row.slug,
        "kind": row.kind,
        "text": row.text,
        "command": row.command,
        "choices": choices,
        "asked_at": iso(row.asked_at),
        "answerable": True,
    }


def answer(ident: str, said: list[str], reason: str = "") -> Change[Row]:
    """Answer a question, if nobody has yet."""

    def work(tx: Tx) -> Row:
        row = q.question_by_id(tx, id=ident)
        if row is None:
            raise NoSuchQuestion(question=ident)
        if row.answer is not None or row.closed_at is not None or not is_unfinished(row):
            raise AnsweredBefore(question=ident, how=_how(row))
        tx.about(row.project, row.slug)
        tx.dispatch = row.dispatch
        choices: Any = jsontext.loads(row.choices)
        given = questions.answer(row.kind, choices, said, reason)
        q.answer_question(tx, id=ident, answer=jsontext.dumps(given), by=tx.caller.actor, at=tx.at)
        tx.note(question=ident, answer=questions.in_words(given))
        place = {"project": row.project, "task": row.slug}
        return {
            "id": ident,
            "agent": row.dispatch,
            **place,
            "text": row.text,
            "answer": questions.in_words(given),
        }

    return Change(f"answer question {ident}", work, *said, reason)


def _how(row: AskedQuestion) -> str:
    if not is_unfinished(row):
        return "its agent has ended"
    if row.answer is None:
        return "it was answered at the agent's terminal, or the agent went on without it"
    given: Any = jsontext.loads(row.answer)
    return f"{row.answered_by} answered {questions.in_words(given)!r} at {iso(row.answered_at)}"


def close_orphans() -> Change[Row]:
    """Questions of agents that have ended are over."""

    def work(tx: Tx) -> Row:
        return {"closed": q.close_orphaned_questions(tx, at=tx.at)}

    return Change("close questions of agents that have ended", work)
