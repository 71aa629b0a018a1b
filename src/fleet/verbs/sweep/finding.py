"""A finding of the sweep: what, why, what proves it, and what was done about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fleet.errors.families import FleetError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.store.transaction import Row


def about(row: Row) -> str:
    """A dispatch, for people."""
    place = f"{row['project']}/{row['slug']}" if row["slug"] else row["project"]
    return f"dispatch {row['id']} ({row['kind']} of {place})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found, why it matters, what proves it, and what was done."""

    what: str
    why: str
    proof: str
    action: str
    done: bool = False
    standing: bool = False


def acted(what: str, why: str, proof: str, action: str, kill: bool, act: Callable[[], Any]) -> Finding:  # noqa: FBT001, PLR0917
    """Act if wanted, and say what came of it."""
    if not kill:
        return Finding(what=what, why=why, proof=proof, action=f"would {action}")
    try:
        outcome = act()
    except (FleetError, OSError) as error:
        return Finding(what=what, why=why, proof=proof, action=f"could not {action}: {error}", standing=True)
    if outcome is False or (isinstance(outcome, dict) and outcome.get("settled") is False):
        told = outcome["why"] if outcome else "it does not answer"
        return Finding(what=what, why=why, proof=proof, action=f"could not {action}: {told}", standing=True)
    left = outcome.get("left") if isinstance(outcome, dict) else outcome if isinstance(outcome, list) else None
    aside = outcome.get("aside") if isinstance(outcome, dict) else None
    said = (
        f"did: {action}" + "".join(f"; {each}" for each in aside or ()) + (f"; left: {'; '.join(left)}" if left else "")
    )
    return Finding(what=what, why=why, proof=proof, action=said, done=not left, standing=bool(left))
