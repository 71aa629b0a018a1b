"""Choosing: the person's answers to the parts of an open question, by number, until all of them are sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.surfaces.tui.acts.agents import answer_question

if TYPE_CHECKING:
    from fleet.model.results.agents import Choice, Question
    from fleet.surfaces.tui.board import Board

# The highest number that one key can choose.
_MOST = 9


class Choosing:
    """The answers that were chosen so far, one for each part of the question, and what is marked in the current part."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self.answers: list[str] = []
        self.marked: set[str] = set()

    def reset(self) -> None:
        """Forget all answers: another question is open, or they were sent."""
        self.answers, self.marked = [], set()

    @property
    def choice(self) -> Choice | None:
        """The part of the open question that the person answers next; None when no question with choices is open."""
        question = self._board.question
        if question is None or question.id is None or question.kind != "question" or not question.choices:
            return None
        return question.choices[min(len(self.answers), len(question.choices) - 1)]

    @property
    def most(self) -> int:
        """How many answers of the current part can be chosen by number, at most 9; 0 when no part is open."""
        return min(len(self.choice.options), _MOST) if self.choice is not None else 0

    def choose(self, digit: str) -> None:
        """Take the answer with the number `digit`; after the last part, send all answers.

        Where several answers may be chosen, only mark this one, or remove its mark.

        When the selected row has no question with answers to choose from, or the question no answer with this number,
        only tell the person so.
        """
        choice, question = self.choice, self._board.question
        if choice is None or question is None:
            self._board.say(self._why_no_choice())
            return
        if int(digit) > len(choice.options):
            self._board.say(f"there is no answer {digit}")
        elif choice.many:
            self.marked ^= {digit}
        else:
            self._answer(question, digit)

    def _why_no_choice(self) -> str:
        """Return why a number chooses nothing now, with the keys that answer the question if there is one."""
        row, key_of = self._board.row, self._board.key_of
        if row is None or not row.asks:
            return "there is no question to answer here"
        if self._board.question is None:
            return "the question is being read: press the number again"
        if row.asks == "permission":
            return f"this is answered with {key_of('approve')} (approve) or {key_of('deny')} (deny)"
        return f"there are no answers to choose from: {key_of('answer')} answers in your own words"

    def send_marked(self) -> bool:
        """Take all marked answers as the answer to the current part; after the last part, send all answers.

        Returns False when none is marked.
        """
        question = self._board.question
        if not self.marked or question is None:
            return False
        self._answer(question, ",".join(sorted(self.marked)))
        return True

    def _answer(self, question: Question, answer: str) -> None:
        """Keep the answer to the current part of the question; when it was the last part, send all answers."""
        self.answers.append(answer)
        self.marked = set()
        if len(self.answers) >= len(question.choices):
            answer_question(self._board, question.id or "", self.answers)
            self.reset()
