"""Claim: the recorded duty to release a resource, for the code that acquires, releases and recovers resources."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from fleet.model.identity import Identity
from fleet.records import field, record

if TYPE_CHECKING:
    from fleet.model.states import ClaimState
    from fleet.store.queries import Claim as ClaimRow

Look = Literal["ours", "absent", "foreign", "unknown"]


@record(frozen=True, slots=True, kw_only=True)
class Claim:
    """The recorded duty to release one resource outside the database, such as a tmux session.

    It belongs to a dispatch, to a task's bundle (`project` and `slug`), to a job, or to a project alone, as a warm tree
    does. Only one of `dispatch`, `slug` and `job` is set, none for a project alone. `name` names the resource.

    `home` is the id of the home that made the claim, `host` that of the machine on which this home was made. `actor` is
    the identity of the process that creates or removes the resource now, '' for none. `failures` counts failed
    releases. `data` is what the kind of claim keeps about its resource.
    """

    id: str
    kind: str
    name: str
    host: str
    home: str | None = None
    dispatch: str | None = None
    project: str | None = None
    slug: str | None = None
    job: str | None = None
    state: ClaimState = "allocating"
    actor: str = ""
    failures: int = 0
    data: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, row: ClaimRow) -> Claim:
        """Return the claim that a row of the store describes."""
        fields = {name: getattr(row, name) for name in cls.__slots__}
        return cls(**{**fields, "data": json.loads(fields["data"])})

    @property
    def who(self) -> Identity | None:
        """Return the process that creates or removes the resource now; None when the claim does not name one."""
        return Identity.parse(self.actor)

    @property
    def is_live(self) -> bool:
        """Return whether the resource was created and its removal has not begun."""
        return self.state == "live"

    @property
    def is_unmade(self) -> bool:
        """Return whether the creation of the resource has not ended, or has failed: parts of it may be there."""
        return self.state in {"allocating", "failed_alloc"}

    @property
    def is_leaving(self) -> bool:
        """Return whether the removal of the resource has begun and has not ended: parts of it may be gone."""
        return self.state in {"releasing", "releasing_blocked"}

    @property
    def is_released(self) -> bool:
        """Return whether the claim has ended: the resource is gone, or a person gave the claim up."""
        return self.state == "released"

    @property
    def actor_text(self) -> str:
        """Return the process that creates or removes the resource, as text for people."""
        return f"process {self.who.pid}" if self.who else "an unknown process"

    def __str__(self) -> str:
        """Return the kind and the name of the resource."""
        return f"{self.kind} {self.name}"
