"""Errors for callers that have lost the task or the seat, or whose dispatch has ended."""

from __future__ import annotations

from fleet.errors.families import Superseded


class NotSeated(Superseded):
    """The caller does not hold the project's seat: another dispatch coordinates the project, or nobody does."""

    says = "{dispatch} does not coordinate project {project!r}: {holder} does; nothing was changed"
    hint = "stop coordinating it"


class SpeakerEnded(Superseded):
    """The dispatch that makes the request has ended, and its journal is archived."""

    says = "dispatch {dispatch} has ended and is archived; nothing was changed"
    hint = "stop working"


class VerdictTooLate(Superseded):
    """A verdict does not count, because another came first or the reviewer was superseded; its comments are kept."""

    says = "the verdict on {project}/{slug} does not count ({why}); its comments are kept"
    hint = "`fleet task show` shows them, and whoever goes on with the task is told"


class AnsweredBefore(Superseded):
    """The question was answered or closed before; the first answer counts."""

    says = "question {question} is over: {how}; your answer changed nothing"
    hint = "`fleet questions` lists the open questions"
