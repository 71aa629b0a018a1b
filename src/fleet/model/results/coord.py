"""Coordinators and handoffs."""

from __future__ import annotations

from fleet.model.results.dispatches import Dispatched
from fleet.model.results.reports import Received
from fleet.model.results.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.value import Said, Time
    from fleet.model.states import DispatchKind, HandoffState, SeatState, TaskStatus


class Seated(Dispatched):
    """A new coordinator. Its task and branch are null, its worktree is your repository."""

    replaces: Said[str] = None  # the coordinator before it; only when one was replaced
    epoch: Said[int] = None  # the seat's new epoch; only when one was replaced
    warnings: list[str]  # what failed, although the coordinator works


class SeatView(Value):
    """The seat of a project's coordinator, and who holds it."""

    project: str
    holder: str | None  # the coordinator's id; null when the seat is empty
    epoch: int  # how often the seat has got another holder or has lost its holder
    state: SeatState  # none, starting, alive, dead, `dead before it started`, unknown or ended
    where: str | None  # `daemon, pid N` for a duty of the daemon, else its tmux session; null when it does not run
    wake_trouble: str | None  # why a coordinator that is an agent cannot be woken when there is something to do
    candidate: str | None  # the next coordinator, until it has proved that it works
    deadline: Time | None  # until when the candidate has to prove that it works
    retiring: list[str]  # former coordinators that have not ended yet
    stale_proofs: list[StaleProof]  # candidates that never proved that they work


class StaleProof(Value):
    dispatch: str  # the candidate
    minted_at: Time  # when the secret for the candidate's proof was created


class Ticked(Value):
    """What one tick of a coordinator did, and what the coordinator has to know next."""

    project: str
    holder: str  # the coordinator that called the tick
    epoch: int
    done: list[str]  # what was done, one line each
    troubles: list[str]  # what could not be done, one line each
    next: Briefing  # what the coordinator needs to know now
    messages: list[Received]  # messages for the coordinator, repeated until it calls `--ack ID`; apply each id once


class Briefing(Value):
    """What a coordinator needs to know now. Tasks are given by their slugs, agents by their ids."""

    working: list[AtWork]
    ready: list[str]  # tasks that could be started now
    to_review: list[str]  # tasks that wait for a verdict
    to_merge: list[str]  # tasks that wait to be merged
    trouble: list[Trouble]  # tasks that failed or are blocked
    handoffs: list[str]  # agents that wait to be handed off


class AtWork(Value):
    id: str
    kind: DispatchKind
    task: str | None  # null for a job


class Trouble(Value):
    """A task that failed or is blocked."""

    task: str
    status: TaskStatus
    reason: str  # the beginning of the reason


class Unseated(Value):
    """The result of stopping a coordinator."""

    project: str
    id: str  # the coordinator's id
    stopped: bool  # the coordinator has ended, and the seat is empty
    why: str  # why the coordinator was not stopped


class HandoffView(Value):
    """A handoff: an agent is to be replaced by a successor that gets its document."""

    id: str
    dispatch: str  # the agent that is to be replaced
    project: str
    slug: str | None  # null for a coordinator
    reason: str
    document: str  # the path of the document in the fleet home
    asked_by: str
    state: HandoffState  # queued, done, or dropped (no successor is needed any more, or the task was parked)
    deferred: str | None  # why the handoff was postponed the last time
    successor: str | None
    at: Time
    done_at: Time | None
    fruitless: int | None  # how many handoffs in a row, up to this one, brought no progress; null when not known
    parked_at: Time | None  # when the task was parked because of this handoff
    changed: Said[bool] = None  # only from `fleet handoff`: the handoff was not queued before
    warnings: Said[list[str]] = None  # only from `fleet handoff` and `fleet drain`: what else failed
    text: Said[str] = None  # only from `fleet handoffs show`: the text of the document
