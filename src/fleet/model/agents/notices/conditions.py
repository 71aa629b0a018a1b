"""Conditions: the situations that a person is notified about. Each time that a condition begins, it becomes one notice."""

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

# A condition that is older than this when first seen is recorded but not sent, unless someone waits for the person.
NEWS = DAY
_LONGEST = 1_000
_HANDOFFS, _HOOK = "handoffs", "hook"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A situation that exists now and that a person is notified about, such as a blocked task.

    `subject` identifies the condition and stays the same while it lasts. `since` is in milliseconds.
    """

    subject: str
    kind: NoticeKind
    project: str
    slug: str | None
    dispatch: str | None
    question: str | None
    title: str
    body: str
    since: int
    # Whether the condition can begin only once: a question, or one failure of one task.
    is_unique: bool
    # The home of the condition's agent: only that home notifies and knows whether the condition holds; empty: any home does.
    home: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The conditions that have begun since the notices were recorded, and the notices of conditions that ended."""

    begun: list[Condition]
    over: list[Notice]


def changes(
    holding: Sequence[Condition], known: Iterable[Notice], *, home: str, unsure: frozenset[str] = frozenset()
) -> Changes:
    """Compare the conditions that hold now with the recorded notices; return which have begun and which have ended.

    A notice is left as it is when it belongs to an agent of another home, or to an agent whose state is unknown now (its id
    is in `unsure`).
    """
    now, before = {each.subject for each in holding}, {each.subject: each for each in known}
    over = [
        each
        for subject, each in before.items()
        if subject not in now and (not each.home or (each.home == home and not _is_in_doubt(each, unsure)))
    ]
    return Changes(begun=[each for each in holding if each.subject not in before], over=over)


def _is_in_doubt(notice: Notice, unsure: frozenset[str]) -> bool:
    """Return whether nobody knows now if the condition of a notice still holds, because the state of its agent is unknown.

    A question is never in doubt: the store knows whether it is open.
    """
    return notice.question is None and notice.dispatch in unsure


def is_news(condition: Condition, now: int) -> bool:
    """Return whether to notify a person about a condition that is seen for the first time.

    True if somebody waits for the person ("needs you"). A condition of another kind has to have begun within the last day.
    """
    return condition.kind in TOLD_AGAIN or now - condition.since <= NEWS


def need(given: NeedView, *, home: str) -> Condition:
    """Return the condition for an entry of "needs you": a question, an agent that waits, or handoffs without progress.

    `home` is the home of that agent.
    """
    by_state = given.question is None and given.kind != _HANDOFFS
    # A hook says since when a state holds; a screen only that it holds now, so that it may end and begin again.
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
    """Return the condition for a failed task. Its subject has the time: each failure of a task is another condition."""
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
    """Return the condition for a failed job."""
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
    """Return the condition for a task that waits for a person's review.

    After the task was sent back, its next review is another condition.
    """
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
    """Return the condition for a blocked task."""
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
    """Return a condition whose texts are escaped, and whose body is cut and freed of passwords in addresses.

    `is_unique`: it can begin only once. `home`: the only home that notifies about it; "" when any may. The title names
    `who`; without it the task, or the coordinator when there is no task.
    """
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
    """Return the assignee of a task if it is an agent's id; None for a person."""
    return assignee if assignee is not None and names.is_dispatch_id(assignee) else None


def _title(kind: NoticeKind, project: str, who: str, dispatch: str | None) -> str:
    """Return the title of a notice, such as `web/parser needs you (agent 3f2a9c01)`."""
    words = {"needs you": "needs you", "failed": "failed", "review": "waits for your review", "blocked": "is blocked"}
    return f"{project}/{who} {words[kind]}{f' (agent {dispatch})' if dispatch else ''}"
