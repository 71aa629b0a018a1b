"""Conditions: what a person is to be told of as long as it holds. A notice is one beginning of one condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.model import names
from fleet.model.agents.notices.kinds import TOLD_AGAIN
from fleet.model.text import escapes, secrets
from fleet.model.text.times import DAY, since_epoch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fleet.model.results.views import NeedView
    from fleet.model.states import NoticeKind
    from fleet.store.queries import FailedJob, FailedTaskNews, Notice, ParkedTask, QueuedReview

# What is older than this when it is first seen is no news: it is recorded and not told. Someone who waits is always told.
NEWS = DAY
_LONGEST = 1_000
_HANDOFFS, _HOOK = "handoffs", "hook"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Something that holds now. `subject` is the same in every look as long as it goes on."""

    subject: str
    kind: NoticeKind
    project: str
    slug: str | None
    dispatch: str | None
    question: str | None
    title: str
    body: str
    since: int
    # Whether it can begin only once: a question, or one failure of one task.
    is_unique: bool
    # The home whose agent it is about, which alone tells it and sees whether it still holds; empty when every home may.
    home: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What one look changes: conditions that have begun, and the notices of those that are over."""

    begun: list[Condition]
    over: list[Notice]


def changes(
    holding: Sequence[Condition], known: Iterable[Notice], *, home: str, unsure: frozenset[str] = frozenset()
) -> Changes:
    """Compare what holds now with the notices of conditions that have not ended.

    A notice of another home's agent, and of an agent whose state nobody can tell now (`unsure`), is left as it is.
    """
    now, before = {each.subject for each in holding}, {each.subject: each for each in known}
    over = [
        each
        for subject, each in before.items()
        if subject not in now and (not each.home or (each.home == home and not _is_untold(each, unsure)))
    ]
    return Changes(begun=[each for each in holding if each.subject not in before], over=over)


def _is_untold(notice: Notice, unsure: frozenset[str]) -> bool:
    """Whether nobody can tell now if the state of the notice's agent has ended. The store tells of questions."""
    return notice.question is None and notice.dispatch in unsure


def is_news(condition: Condition, now: int) -> bool:
    """Whether a condition that is seen for the first time is told: someone who waits always, others within a day."""
    return condition.kind in TOLD_AGAIN or now - condition.since <= NEWS


def need(given: NeedView, *, home: str) -> Condition:
    """Return the condition of an entry "needs you": a question, an agent that waits, or handoffs without progress."""
    by_state = given.question is None and given.kind != _HANDOFFS
    # A hook tells since when; a screen only that it is so now. What is seen on a screen may end and begin again.
    is_dated = by_state and given.source == _HOOK
    subject = f"agent {given.dispatch} {given.kind}{f' {given.since}' if is_dated else ''}"
    if given.question:
        subject = f"question {given.question}"
    text = f"{given.text}\n{given.command}" if given.command and given.command not in given.text else given.text
    return _condition(
        subject=subject,
        kind="needs you",
        project=given.project,
        slug=given.slug,
        dispatch=given.dispatch,
        question=given.question,
        body=text,
        since=since_epoch(given.since),
        is_unique=given.question is not None or is_dated,
        home=home if by_state or given.question else "",
    )


def failed_task(row: FailedTaskNews) -> Condition:
    """Return the condition of a task that failed. The time of its end tells one failure from the next."""
    return _condition(
        subject=f"task {row.project}/{row.slug} failed {row.ended_at}",
        kind="failed",
        project=row.project,
        slug=row.slug,
        dispatch=_agent(row.assignee),
        body=row.reason or row.title,
        since=row.ended_at,
        is_unique=True,
    )


def failed_job(row: FailedJob) -> Condition:
    """Return the condition of a job that failed."""
    return _condition(
        subject=f"job {row.id} failed {row.ended_at}",
        kind="failed",
        project=row.project,
        slug=None,
        dispatch=None,
        who=f"job {row.name}",
        body=row.reason or "it failed",
        since=row.ended_at,
        is_unique=True,
    )


def waiting_review(row: QueuedReview) -> Condition:
    """Return the condition of work that waits for a person's verdict; work that was sent back waits anew."""
    return _condition(
        subject=f"task {row.project}/{row.slug} review {row.fixes}",
        kind="review",
        project=row.project,
        slug=row.slug,
        dispatch=_agent(row.assignee),
        body=row.title,
        since=row.changed_at,
    )


def blocked_task(row: ParkedTask) -> Condition:
    """Return the condition of a task that is blocked."""
    return _condition(
        subject=f"task {row.project}/{row.slug} blocked",
        kind="blocked",
        project=row.project,
        slug=row.slug,
        dispatch=None,
        body=row.reason or row.title,
        since=row.changed_at,
    )


def _condition(
    *,
    subject: str,
    kind: NoticeKind,
    project: str,
    slug: str | None,
    dispatch: str | None,
    body: str,
    since: int,
    is_unique: bool = False,
    question: str | None = None,
    home: str = "",
    who: str = "",
) -> Condition:
    """Return a condition whose texts have no control characters, no credentials and a bounded length."""
    return Condition(
        subject=subject,
        kind=kind,
        project=project,
        slug=slug,
        dispatch=dispatch,
        question=question,
        title=escapes.line(_title(kind, project, who or slug or "coordinator", dispatch)),
        body=escapes.cut(escapes.text(secrets.hidden(body.strip())), _LONGEST, more="fleet status"),
        since=since,
        is_unique=is_unique,
        home=home,
    )


def _agent(assignee: str | None) -> str | None:
    """Return the assignee when it is an agent; None for a person."""
    return assignee if assignee is not None and names.is_dispatch_id(assignee) else None


def _title(kind: NoticeKind, project: str, who: str, dispatch: str | None) -> str:
    """Return project, who, and what about them: `web/parser needs you (agent 3f2a9c01)`."""
    words = {"needs you": "needs you", "failed": "failed", "review": "waits for your review", "blocked": "is blocked"}
    return f"{project}/{who} {words[kind]}{f' (agent {dispatch})' if dispatch else ''}"
