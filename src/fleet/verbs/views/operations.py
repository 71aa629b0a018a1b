"""Follow operations: list them, and wait for more. By sequence number, so none is missed."""

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

PAGE = 500
PAUSE = 0.2
FOREVER = 1 << 60


class Which:
    """Which operations: of whom, between which times, and up to which sequence number."""

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

    def wants(self, row: Operation) -> bool:
        """Whether an operation is one of them."""
        return (
            self.project in {None, row.project}
            and self.slug in {None, row.slug}
            and self.dispatch in {None, row.dispatch}
            and self.actor in {None, row.actor}
            and self.since <= row.at <= self.before
            and row.seq <= self.until
        )


def operation_view(row: Operation) -> OperationView:
    """An operation as people and programs read it."""
    return OperationView.made_of(row, at=iso(row.at), what=facts_of(row.what))


def facts_of(what: str) -> dict[str, Any]:
    """What an operation noted of its change, from the column `what`."""
    facts = jsontext.loads(what)
    return facts if isinstance(facts, dict) else {}


def recent(rows: Rows, which: Which, limit: int) -> list[OperationView]:
    """The newest operations that fit, oldest first."""
    return [operation_view(row) for row in reversed(_newest_first(rows, which, limit)) if which.wants(row)]


def _newest_first(rows: Rows, which: Which, limit: int) -> list[Operation]:
    since, before, until, actor = which.since, which.before, which.until, which.actor
    if which.dispatch is not None:
        return q.operations_of_dispatch(
            rows, dispatch=which.dispatch, since=since, before=before, until=until, actor=actor, most=limit
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
    """The newest sequence number; 0 before the first operation."""
    return q.last_operation(rows).seq


def follow(store: Store, clock: Clock, which: Which, after: int, wanted: Callable[[], bool]) -> Iterator[OperationView]:
    """Operations as they are committed, for as long as they are wanted."""
    while wanted():
        page = store.read(lambda rows: q.operations_after(rows, after=after, until=FOREVER, most=PAGE))  # noqa: B023
        for row in page:
            after = row.seq
            if which.wants(row):
                yield operation_view(row)
        if not page:
            clock.wait(PAUSE)
