"""The timeline: when each agent worked and how its dispatch ended, from dispatches and operations."""

from __future__ import annotations

from fleet.model.results.views import Span
from fleet.model.text.times import iso, iso_or_none
from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import SpanOutcome
    from fleet.store.queries import Dispatch, LaunchOrEnd
    from fleet.store.transaction import Rows

# The first words of the operations that record a launch. A coordinator that the daemon plays is launched by the
# operation that dispatches it.
_LAUNCHES = frozenset({"launch", "dispatch"})
_OUTCOMES: dict[str, SpanOutcome] = {"done": "done", "failed": "failed", "blocked": "blocked"}


def timeline(rows: Rows, since: int) -> list[Span]:
    """Return when each agent worked since the time `since`, sorted by start. `since` is in milliseconds."""
    spans: dict[str, Span] = {}
    for row in q.listed_dispatches(rows, project=None, ended=1):
        if row.launched_at is not None and (row.ended_at is None or row.ended_at >= since):
            spans[row.id] = _span_of(row)
    for event in q.launches_and_ends(rows, since=since):
        _add(spans, event)
    return sorted(spans.values(), key=lambda span: (span.started_at, span.dispatch))


def _span_of(row: Dispatch) -> Span:
    """Return when the agent of a launched dispatch that is not archived worked, and the outcome."""
    outcome = _OUTCOMES.get(row.exec_state, "working")
    return Span(
        dispatch=row.id,
        project=row.project,
        slug=row.slug,
        kind=row.kind,
        started_at=iso(row.launched_at or row.created_at),
        ended_at=iso_or_none(row.ended_at),
        outcome=outcome,
    )


def _add(spans: dict[str, Span], event: LaunchOrEnd) -> None:
    """Add to `spans`, by dispatch id, the launch or the end of an archived dispatch that an operation records."""
    verb, _, rest = event.why.partition(" ")
    ident = rest[:8]
    known = spans.get(ident)
    if verb in _LAUNCHES and known is None and event.project is not None:
        spans[ident] = Span(
            dispatch=ident,
            project=event.project,
            slug=event.slug,
            kind="",
            started_at=iso(event.at),
            ended_at=None,
            outcome="working",
        )
    elif verb == "settle" and known is not None and known.ended_at is None:
        word = rest[8:].removeprefix(":").split()[:1]
        known.ended_at, known.outcome = iso(event.at), _OUTCOMES.get(word[0] if word else "", "blocked")
