"""The seat in the store: the holder that coordinates a project, and the candidate. Each change is a compare and set."""

from __future__ import annotations

from fleet import errors
from fleet.model.dispatch.seat_steps import STEPS, seat_state
from fleet.model.dispatch.steps import is_asked_to_exit, is_in_flight, is_unfinished
from fleet.model.text.times import SECOND
from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.queries import Dispatch, Seat
    from fleet.store.transaction import Rows, Tx


def seat(rows: Rows, project: str) -> Seat:
    """Return a project's seat; an empty one when the project never had a coordinator."""
    empty = q.Seat(project=project, holder=None, epoch=0, candidate=None, deadline=None)
    return q.seat_of(rows, project=project) or empty


def holder_of(rows: Rows, project: str) -> Dispatch | None:
    """Return the dispatch that holds the project's seat, also when it has ended; None when none does."""
    return q.dispatch_by_id(rows, id=seat(rows, project).holder or "")


def is_holder(rows: Rows, project: str, dispatch: str) -> bool:
    """Return whether a dispatch holds the project's seat."""
    return seat(rows, project).holder == dispatch


def take_seat(tx: Tx, project: str, dispatch: str, old: str | None, proof: float | None) -> None:
    """Record a new coordinator in the seat before its session is created.

    Without `proof` it becomes the holder: raise Contested when there is a candidate, or a holder that has not ended.
    With `proof`, the seconds within which it has to prove itself, it becomes the candidate beside the holder `old`:
    raise ReplaceInProgress when there is a candidate, NotSeated when `old` is not the holder.
    """
    q.add_seat(tx, project=project)
    now = seat(tx, project)
    if proof is None:
        before = holder_of(tx, project)
        if not _may(now, "take") or (before is not None and is_unfinished(before)):
            raise errors.Contested(what=f"project {project!r} has the coordinator {now.candidate or now.holder}")
        q.take_seat(tx, project=project, holder=dispatch, was=now.holder)
    elif not _may(now, "nominate"):
        raise errors.ReplaceInProgress(project=project, candidate=now.candidate)
    elif not q.set_candidate(tx, project=project, candidate=dispatch, holder=old, deadline=tx.at + int(proof * SECOND)):
        raise errors.NotSeated(project=project, dispatch=old, holder=now.holder or "nobody")
    tx.note(seat="taken" if proof is None else "candidate")


def prove_candidate(tx: Tx, project: str, dispatch: str, given: str) -> bool:
    """Make the candidate `dispatch` the holder of the seat, if `given` is the hash of its nonce. This completes a Replace.

    Return False when the dispatch is the holder already. Raise NotSeated when it is not the candidate, the nonce is
    wrong or spent, or the dispatch was asked to exit.
    """
    now = seat(tx, project)
    if now.holder == dispatch:
        return False
    kept = q.nonce_of(tx, dispatch=dispatch)
    row = q.dispatch_by_id(tx, id=dispatch)
    right = kept is not None and kept.hash == given and kept.spent_at is None
    going = row is not None and is_in_flight(row) and not is_asked_to_exit(row)
    if not _may(now, "prove") or now.candidate != dispatch or not right or not going:
        raise errors.NotSeated(project=project, dispatch=dispatch, holder=now.holder or "nobody")
    q.spend_nonce(tx, dispatch=dispatch, at=tx.at)
    q.seat_candidate(tx, project=project, candidate=dispatch)
    tx.note(seat="committed", holder=dispatch, was=now.holder, epoch=now.epoch + 1)
    return True


def withdraw_candidate(tx: Tx, project: str, candidate: str) -> bool:
    """Remove a candidate from the seat; the holder stays. Return False when `candidate` is no longer the candidate."""
    return _may(seat(tx, project), "withdraw") and q.withdraw_candidate(tx, project=project, candidate=candidate) == 1


def vacate_seat(tx: Tx, project: str, holder: str) -> bool:
    """Remove a holder from the seat without a successor. Return False when `holder` is no longer the holder."""
    return _may(seat(tx, project), "vacate") and q.empty_seat(tx, project=project, holder=holder) == 1


def empty_seat(tx: Tx, project: str, holder: str) -> tuple[bool, str | None]:
    """Remove an ended holder and the candidate from the seat.

    Return whether the seat has no holder after that, and the id of the candidate that was removed (None: none was). Nothing
    is removed when another coordinator holds the seat.
    """
    now = seat(tx, project)
    if now.holder is None:
        return True, None
    if now.holder != holder:
        return False, None
    withdrawn = now.candidate if now.candidate and withdraw_candidate(tx, project, now.candidate) else None
    return vacate_seat(tx, project, holder), withdrawn


def _may(now: Seat, event: str) -> bool:
    """Return whether an event, such as "take" or "vacate", is allowed in the present state of a seat."""
    return (seat_state(now), event) in STEPS
