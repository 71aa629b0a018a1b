"""Coordinators and handoffs."""

from __future__ import annotations

from fleet.model.results.dispatches import Dispatched
from fleet.model.results.reports import Received
from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.value import Said, Time
    from fleet.model.states import DispatchKind, HandoffState, TaskStatus


class Seated(Dispatched):
    """The new coordinator. Its task and branch are null, its worktree is your repository."""

    replaces: Said[str] = None  # the one before it; only of a Replace
    epoch: Said[int] = None  # the seat's new epoch; only of a Replace
    warnings: list[str]  # what did not come off, though the coordinator works


class SeatView(Value):
    project: str
    holder: str | None  # who coordinates
    epoch: int  # how often the seat has changed
    state: str  # none, starting, alive, dead, `dead before it started`, unknown or ended
    candidate: str | None  # who has to prove itself to be next
    deadline: Time | None  # until when
    retiring: list[str]  # coordinators out of the seat that have not ended yet
    stale_proofs: list[StaleProof]  # new coordinators that never proved themselves


class StaleProof(Value):
    dispatch: str
    minted_at: Time


class Ticked(Value):
    project: str
    holder: str  # who ticked
    epoch: int
    done: list[str]  # what was done, a line each
    troubles: list[str]  # what could not be done
    next: Briefing  # what the coordinator needs to know
    messages: list[Received]  # what waits for the coordinator until it says `--ack ID`; each id is to be applied once


class Briefing(Value):
    working: list[AtWork]
    ready: list[str]  # tasks that could be started
    to_review: list[str]  # tasks that wait for a verdict
    to_merge: list[str]  # tasks that wait to be merged
    trouble: list[Trouble]  # tasks that failed or are blocked
    handoffs: list[str]  # agents whose handoff waits


class AtWork(Value):
    id: str
    kind: DispatchKind
    task: str | None  # null for a job


class Trouble(Value):
    task: str
    status: TaskStatus
    reason: str  # its beginning


class Unseated(Value):
    project: str
    id: str  # the coordinator
    stopped: bool  # it has ended, and the seat is empty
    why: str  # why not


class HandoffView(Value):
    id: str
    dispatch: str  # the agent that is handed off
    project: str
    slug: str | None  # null for a coordinator
    reason: str
    document: str  # the file in the fleet home
    asked_by: str
    state: HandoffState  # queued, done, or dropped: it ended by itself
    deferred: str | None  # why it was put off the last time
    successor: str | None
    at: Time
    done_at: Time | None
    changed: Said[bool] = None  # by `fleet handoff`: it was not queued before
    warnings: Said[list[str]] = None  # by `fleet handoff`
    text: Said[str] = None  # by `fleet handoffs show`: the document
