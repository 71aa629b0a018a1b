"""Operations: list them, and follow new ones. By their sequence numbers a follower misses none."""

from __future__ import annotations

from fleet.model.results.home import OperationView
from fleet.model.text import jsontext
from fleet.model.text.times import iso
from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from fleet.store.queries import Operation
    from fleet.store.transaction import Rows, Store
    from fleet.world.clock import Clock

# How many operations are read at once, how many seconds a follower waits for new ones, and no upper limit.
PAGE = 500
PAUSE = 0.2
FOREVER = 1 << 60


class OperationFilter:
    """A filter for operations; None in a field lets every operation pass.

    `since` and `before` are the first and the last time in milliseconds, `until` is the highest sequence number: all
    three are inclusive.
    """

    __slots__ = ("actor", "before", "dispatch", "project", "since", "slug", "until")

    def __init__(
        self,
        *,
        project: str | None = None,
        slug: str | None = None,
        dispatch: str | None = None,
        actor: str | None = None,
        since: int = 0,
        before: int = FOREVER,
        until: int = FOREVER,
    ) -> None:
        self.project = project
        self.slug = slug
        self.dispatch = dispatch
        self.actor = actor
        self.since = since
        self.before = before
        self.until = until

    def fits_row(self, row: Operation) -> bool:
        """Return whether an operation, as the store has it, passes this filter."""
        return self._is_about(row) and self.since <= row.at <= self.before

    def fits_view(self, operation: OperationView) -> bool:
        """Return whether an operation, as the daemon sends it, passes this filter.

        Its time is an ISO text; such texts sort in the order of the times.
        """
        in_time = operation.at >= iso(self.since) and (self.before >= FOREVER or operation.at <= iso(self.before))
        return self._is_about(operation) and in_time

    def _is_about(self, operation: Operation | OperationView) -> bool:
        """Return whether project, task, dispatch, actor and sequence number of an operation pass this filter."""
        return (
            self.project in {None, operation.project}
            and self.slug in {None, operation.slug}
            and self.dispatch in {None, operation.dispatch}
            and self.actor in {None, operation.actor}
            and operation.seq <= self.until
        )


def operation_view(row: Operation) -> OperationView:
    """Return an operation in the form that people and programs read, with its time as text."""
    return OperationView.made_of(row, at=iso(row.at), what=facts_of(row.what))


def facts_of(what: str) -> dict[str, Any]:
    """Return the facts that an operation recorded, parsed from its column `what`; {} when there are none."""
    facts = jsontext.loads(what)
    return facts if isinstance(facts, dict) else {}


def recent(rows: Rows, which: OperationFilter, limit: int) -> list[OperationView]:
    """Return the newest operations that pass the filter, at most `limit`, oldest first."""
    return [operation_view(row) for row in reversed(_newest_first(rows, which, limit))]


def _newest_first(rows: Rows, which: OperationFilter, limit: int) -> list[Operation]:
    """Return the newest operations that pass the filter, newest first, at most `limit`."""
    since, before, until, actor = which.since, which.before, which.until, which.actor
    if which.dispatch is not None:
        return q.operations_of_dispatch(
            rows,
            dispatch=which.dispatch,
            project=which.project,
            slug=which.slug,
            since=since,
            before=before,
            until=until,
            actor=actor,
            most=limit,
        )
    if which.slug is not None:
        return q.operations_of_task(
            rows,
            project=which.project or "",
            slug=which.slug,
            since=since,
            before=before,
            until=until,
            actor=actor,
            most=limit,
        )
    return q.operations_matching(
        rows, project=which.project, since=since, before=before, until=until, actor=actor, most=limit
    )


def newest(rows: Rows) -> int:
    """Return the sequence number of the newest operation; 0 when there is no operation."""
    return q.last_operation(rows).seq


def follow(
    store: Store, clock: Clock, which: OperationFilter, after: int, wanted: Callable[[], bool]
) -> Iterator[OperationView]:
    """Yield each operation after the sequence number `after` as soon as it is committed, until `wanted()` is false."""
    while wanted():
        page = store.read(lambda rows: q.operations_after(rows, after=after, until=FOREVER, most=PAGE))  # noqa: B023
        for row in page:
            after = row.seq
            if which.fits_row(row):
                yield operation_view(row)
        if not page:
            clock.wait(PAUSE)
