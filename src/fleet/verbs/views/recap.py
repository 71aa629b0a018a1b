"""Recap: what happened since a time. From operations and tables; nobody is asked, and nothing is guessed."""

from __future__ import annotations

from fleet.model.dispatch.settling import INTERRUPTED
from fleet.model.text import jsontext
from fleet.model.text.times import iso
from fleet.store import queries as q
from fleet.verbs.tasks import review
from fleet.verbs.views.overview import questions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.store.queries import SettledDispatch
    from fleet.store.transaction import Rows

    Document = dict[str, Any]


def recap(rows: Rows, *, since: int, now: int, project: str | None = None) -> Document:
    """Merged, waiting, failed, interrupted, spent."""
    ended = q.settled_since(rows, since=since, project=project)
    settled = [_settled(row) for row in ended if not _was_dismissed(row)]
    merged = q.merged_since(rows, since=since, project=project)
    return {
        "since": iso(since),
        "until": iso(now),
        "merged": [{**row, "merged_at": iso(row.merged_at)} for row in merged],
        "review": [each for each in review.waiting(rows) if project in {None, each["project"]}],
        "asked": [each for each in questions(rows) if project in {None, each["project"]}],
        "failed": [each for each in settled if each["exec_state"] == "failed"],
        "blocked": [each for each in settled if each["exec_state"] == "blocked" and not _is_interrupted(each)],
        "interrupted": [each for each in settled if _is_interrupted(each)],
        "spent": _spent(rows, since, project),
    }


def _settled(row: SettledDispatch) -> Document:
    what: Any = jsontext.loads(row.what)
    head = {"project": row.project, "slug": row.slug, "dispatch": row.dispatch, "at": iso(row.at)}
    return head | {"exec_state": what.get("exec_state"), "reason": what.get("reason")}


def _was_dismissed(row: SettledDispatch) -> bool:
    """A coordinator that somebody stopped or replaced: that is no failure."""
    what: Any = jsontext.loads(row.what)
    return row.slug is None and bool(what.get("asked_for"))


def _is_interrupted(each: Document) -> bool:
    return each["exec_state"] == "blocked" and (each["reason"] or "").startswith(INTERRUPTED)


def _spent(rows: Rows, since: int, project: str | None) -> Document:
    """What the agents that were at work since then say they cost, those that are archived too. In dollars."""
    found: list[Any] = list(q.spending(rows, since=since, project=project))
    found += [jsontext.loads(row.what) for row in q.archived_since(rows, since=since, project=project)]
    told = [each for each in found if each.get("cost") is not None or each.get("tokens") is not None]
    millionths = sum(each.get("cost") or 0 for each in told)
    tokens = sum(each.get("tokens") or 0 for each in told)
    return {"agents": len(told), "tokens": tokens, "dollars": round(millionths / 1_000_000, 2)}
