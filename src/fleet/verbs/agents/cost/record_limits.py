"""Record the limits of engines: hold an engine back for the whole fleet, and keep its quota windows.

A usage limit holds an engine back until its reset, a failed login until a person logs in. `apply_holds.py` says what a hold keeps from starting.
"""

from __future__ import annotations

from fleet.model.agents.activity.limit_resets import reset_time
from fleet.model.results.value import Value
from fleet.model.text.times import MINUTE, SECOND
from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import HoldKind
    from fleet.store.queries import Hold
    from fleet.store.transaction import Rows, Tx

# How long a limit without a reset time holds an engine back.
DEFAULT_HOLD = 5 * MINUTE


def hold_engine(tx: Tx, engine: str, kind: HoldKind, reason: str) -> int | None:
    """Record that an engine is held back: fleet starts no agent with it until the hold ends.

    Returns the time when the hold ends, in milliseconds; None for a failed login, which a person has to fix.
    """
    until = _hold_end(tx, engine, reason) if kind == "limit" else None
    q.hold_engine(tx, engine=engine, kind=kind, reason=reason, until=until, at=tx.at)
    tx.note(held=engine, kind=kind, until=until)
    return until


def _hold_end(tx: Tx, engine: str, reason: str) -> int:
    """Return the time when a usage limit ends, in milliseconds.

    It is the time that the reason names, else the reset of a used-up quota window, else `DEFAULT_HOLD` from now.
    """
    resets = (reset_time(reason, tx.at), _reset_of_window(tx, engine), tx.at + DEFAULT_HOLD)
    return next(reset for reset in resets if reset is not None)


def _reset_of_window(tx: Tx, engine: str) -> int | None:
    """Return the earliest coming reset of a used-up quota window, in milliseconds; None when none is known.

    When only resets of the last five minutes are known, return the current time: the limit was reported late.
    """
    full = [row.resets_at for row in q.quotas_of(tx, engine=engine) if row.percent >= 100]  # noqa: PLR2004
    near = [at for at in full if at is not None and at > tx.at - DEFAULT_HOLD]
    later = [at for at in near if at > tx.at]
    return min(later) if later else tx.at if near else None


def is_hold_over(held: Hold | None, at: int) -> bool:
    """Return whether a successful turn at time `at` proves that a held engine works again.

    It does if the turn is later than the hold's start and, for a usage limit, not before its end. False without a hold
    (None).
    """
    if held is None or held.since >= at:
        return False
    return held.kind == "login" or (held.until or 0) <= at


class LimitWindow(Value):
    """A quota window of an engine's account: its time span, how many percent are used, and when it is reset.

    `resets_at` is in milliseconds, None when it is not known.
    """

    span: str
    percent: int
    resets_at: int | None


def read_windows(given: object) -> list[LimitWindow]:
    """Return the quota windows in `given`, a part of the JSON that an engine sends. Unreadable entries are left out."""
    windows_read = []
    for name, window in given.items() if isinstance(given, dict) else ():
        used = window.get("used_percentage") if isinstance(window, dict) else None
        if isinstance(used, int | float):
            reset = window.get("resets_at")
            resets_at = int(reset) * SECOND if isinstance(reset, int | float) else None
            windows_read.append(LimitWindow(span=str(name), percent=int(used), resets_at=resets_at))
    return windows_read


def changed_windows(rows: Rows, engine: str, windows: list[LimitWindow]) -> list[LimitWindow]:
    """Return those of the quota windows that differ from what the store has for the engine."""
    quotas = q.quotas_of(rows, engine=engine)
    known = [LimitWindow(span=row.span, percent=row.percent, resets_at=row.resets_at) for row in quotas]
    return [window for window in windows if window not in known]


def record_windows(tx: Tx, engine: str, windows: list[LimitWindow]) -> None:
    """Record an engine's quota windows.

    If the engine is held by a limit whose reason names no time, and no agent tries it, the hold now ends when a used-up
    window is reset.
    """
    for window in windows:
        q.set_quota(tx, engine=engine, span=window.span, percent=window.percent, resets_at=window.resets_at, at=tx.at)
    held, reset = q.hold_of(tx, engine=engine), _reset_of_window(tx, engine)
    if held is not None and held.kind == "limit" and reset is not None and reset_time(held.reason, tx.at) is None:
        q.move_hold(tx, engine=engine, until=reset)
