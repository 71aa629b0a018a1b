"""Questions of agents to a person. The first answer counts; a second answer is refused."""

from __future__ import annotations

from fleet import errors
from fleet.model.agents import questions
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.results.agents import Answered, Question
from fleet.model.text import jsontext
from fleet.model.text.times import iso, iso_or_none
from fleet.store import queries as q
from fleet.store.transaction import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.queries import AskedQuestion, OpenQuestion
    from fleet.store.transaction import Rows, Tx


def add(tx: Tx, ident: str, dispatch: str, asked: questions.QuestionAsked, *, at: int) -> None:
    """Record a question of an agent under the id `ident`. `at` is the time of the question."""
    choices = jsontext.dumps(asked.choices)
    q.add_question(
        tx,
        id=ident,
        dispatch=dispatch,
        kind=asked.kind,
        text=asked.text,
        command=asked.command,
        runs=asked.runs,
        choices=choices,
        at=at,
    )
    tx.note(question=ident, text=asked.text)


def unanswered(rows: Rows) -> list[Question]:
    """Return the questions that wait for an answer, oldest first."""
    return [_question_view(row) for row in q.open_questions(rows, dispatch=None)]


def _question_view(row: OpenQuestion) -> Question:
    """Return an open question as people and programs read it."""
    choices = questions.choices_of(row.choices)
    return Question.made_of(
        row,
        agent=row.dispatch,
        task=row.slug,
        change=None,
        choices=choices,
        asked_at=iso(row.asked_at),
        answerable=True,
    )


def answer(ident: str, words: list[str], reason: str = "") -> Change[Answered]:
    """Return the change that answers a question; `words` are what the person chose or wrote.

    `reason` says why the person refuses a permission, "" for no reason. Committing raises AnsweredBefore if the
    question was answered or closed, or if its agent has ended; NoSuchQuestion if no question has this id; BadInput if
    the words do not answer it.
    """

    def work(tx: Tx) -> Answered:
        row = q.question_by_id(tx, id=ident)
        if row is None:
            raise errors.NoSuchQuestion(question=ident)
        if row.project is None or row.answer is not None or row.closed_at is not None or not is_unfinished(row):
            raise errors.AnsweredBefore(question=ident, how=_how_answered(row))
        tx.about(row.project, row.slug)
        tx.dispatch = row.dispatch
        kept = questions.answer(row.kind, questions.choices_of(row.choices), words, reason)
        q.answer_question(tx, id=ident, answer=jsontext.dumps(kept), by=tx.caller.actor, at=tx.at)
        tx.note(question=ident, answer=str(kept))
        return Answered.made_of(row, agent=row.dispatch, task=row.slug, answer=str(kept), taken=False)

    return Change(f"answer question {ident}", work, *words, reason)


def _how_answered(row: AskedQuestion) -> str:
    """Return why a question can no longer be answered: its agent has ended, or it was answered or closed before."""
    if not is_unfinished(row):
        return "its agent has ended"
    if row.answer is None:
        return "it was answered at the agent's terminal, or the agent went on without it"
    return f"{row.answered_by} answered {str(questions.answer_of(row.answer))!r} at {iso_or_none(row.answered_at)}"


def close_orphans() -> Change[int]:
    """Return the change that closes the questions of ended agents; committing it returns how many were closed."""
    return Change("close questions of agents that have ended", lambda tx: q.close_orphaned_questions(tx, at=tx.at))
