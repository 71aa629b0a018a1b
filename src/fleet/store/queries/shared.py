"""Rows that queries of several files return, compiled by `make sql`. Do not edit."""

from __future__ import annotations

from fleet.store.row import Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import TaskStatus


class Existence(Row):
    __slots__ = (
        'yes',
    )

    def __init__(
        self,
        yes: int,
    ) -> None:
        self.yes = yes


class Count(Row):
    __slots__ = (
        'n',
    )

    def __init__(
        self,
        n: int,
    ) -> None:
        self.n = n


class TaskTrouble(Row):
    __slots__ = (
        'slug',
        'status',
        'reason',
    )

    def __init__(
        self,
        slug: str,
        status: TaskStatus,
        reason: str | None,
    ) -> None:
        self.slug = slug
        self.status = status
        self.reason = reason
