"""Make a finding of the sweep: what was found, why it may be released, the proof, and what was done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.results.home import Swept

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.store.queries import Dispatch


def describe_dispatch(row: Dispatch) -> str:
    """Return a dispatch as text for a finding: id, kind, project and task."""
    place = f"{row.project}/{row.slug}" if row.slug else row.project
    return f"dispatch {row.id} ({row.kind} of {place})"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOutcome:
    """The outcome of an act: why it failed ("" when it did not), what was moved to the trash, what is still unreleased."""

    failure: str = ""
    aside: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def act_on(what: str, why: str, proof: str, action: str, acts: bool, act: Callable[[], object]) -> Swept:  # noqa: FBT001, PLR0917
    """Call `act` if `acts` is true, and return the finding with the outcome; else return what would be done.

    `what` was found, `why` says why something has to be done about it, and `proof` what shows that it may be done.
    `action` says what `act` does, as an infinitive. `act` returns a `SweepOutcome`, a list of what could not be
    released, or False for a failure; anything else means success. An error that `act` raises is a failure, too.
    """
    if not acts:
        return Swept(what=what, why=why, proof=proof, action=f"would {action}")
    try:
        outcome = _outcome_of(act())
    except (errors.FleetError, OSError) as error:
        outcome = SweepOutcome(failure=str(error))
    if outcome.failure:
        return Swept(what=what, why=why, proof=proof, action=f"could not {action}: {outcome.failure}", standing=True)
    left = [f"left: {'; '.join(outcome.left)}"] if outcome.left else []
    words = "; ".join([f"did: {action}", *outcome.aside, *left])
    return Swept(what=what, why=why, proof=proof, action=words, done=not left, standing=bool(left))


def _outcome_of(returned: object) -> SweepOutcome:
    """Return what an act of the sweep returned as a `SweepOutcome`. See `act_on`."""
    if isinstance(returned, SweepOutcome):
        return returned
    if returned is False:
        return SweepOutcome(failure="it does not answer")
    return SweepOutcome(left=returned if isinstance(returned, list) else [])
