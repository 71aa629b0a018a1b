"""The caller is no longer the one."""

from __future__ import annotations

from fleet.errors.families import Superseded


class NotSeated(Superseded):
    """Only the seat's holder coordinates."""

    says = "{dispatch} does not coordinate project {project!r}: {holder} does; nothing was changed"
    hint = "stop coordinating it"


class SpeakerEnded(Superseded):
    """Its journal is archived: it was proven dead."""

    says = "dispatch {dispatch} has ended and is archived; nothing was changed"
    hint = "stop working"


class AnsweredBefore(Superseded):
    """The first answer counts."""

    says = "question {question} is over: {how}; your answer changed nothing"
    hint = "`fleet questions` lists what is still asked"
