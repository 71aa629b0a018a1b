"""Follow operations: list them, and wait for more. By sequence number, so none is missed."""

from __future__ import annotations

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
        pairs = (("project", self.project), ("slug", self.slug), ("dispatch", self.dispatch), ("actor", self.actor))
        same = all(wanted is None or row[name] == wanted for name, wanted in pairs)
        return same and self.since <= row.at <= self.before and row.seq <= self.until


def document(row: Operation) -> dict[str, Any]:
    """An operation as people and programs read it."""
    return {**row, "at": iso(row.at), "what": jsontext.loads(row.what)}


def recent(rows: Rows, which: Which, limit: int) -> list[dict[str, Any]]:
    """The newest operations that fit, oldest first."""
    common = {"until": which.until, "since": which.since, "before": which.before, "actor": which.actor, "most": limit}
    if which.dispatch is not None:
        found = q.operations_of_dispatch(rows, dispatch=which.dispatch, **common)
    elif which.slug is not None:
        found = q.operations_of_task(rows, project=which.project, slug=which.slug, **common)
    else:
        found = q.operations_matching(rows, project=which.project, **common)
    return [document(row) for row in reversed(found) if which.wants(row)]


def newest(rows: Rows) -> int:
    """The newest sequence number."""
    found = q.last_operation(rows)
    return int(found.seq) if found else 0


def follow(
    store: Store, clock: Clock, which: Which, after: int, wanted: Callable[[], bool]
) -> Iterator[dict[str, Any]]:
    """Operations as they are committed, for as long as they are wanted."""
    while wanted():
        page = store.read(lambda rows: q.operations_after(rows, after=after, until=FOREVER, most=PAGE))  # noqa: B023
        for row in page:
            after = row.seq
            if which.wants(row):
                yield document(row)
        if not page:
            clock.wait(PAUSE)
