"""Engines that are held back for the whole fleet: by a limit until its reset, by a login until a person mends it."""

from __future__ import annotations

from fleet.model.agents.limit_resets import reset_time
from fleet.model.results.value import Value
from fleet.model.text.times import MINUTE, SECOND
from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import HoldKind
    from fleet.store.queries import Hold
    from fleet.store.transaction import Rows, Tx

# How long a limit holds that does not say when it is reset.
DEFAULT_HOLD = 5 * MINUTE


def hold(tx: Tx, engine: str, kind: HoldKind, reason: str) -> int | None:
    """Hold an engine back. Returns until when; None when that is not known."""
    until = _hold_end(tx, engine, reason) if kind == "limit" else None
    q.hold_engine(tx, engine=engine, kind=kind, reason=reason, until=until, at=tx.at)
    tx.note(held=engine, kind=kind, until=until)
    return until


def _hold_end(tx: Tx, engine: str, reason: str) -> int:
    """The reset as the reason says it, else that of a window that is used up, else `DEFAULT_HOLD` from now."""
    resets = (reset_time(reason, tx.at), _reset_of_window(tx, engine), tx.at + DEFAULT_HOLD)
    return next(each for each in resets if each is not None)


def _reset_of_window(tx: Tx, engine: str) -> int | None:
    """When a window that is used up is reset; now, if its reset came while the report of it was under way."""
    full = [row.resets_at for row in q.quotas_of(tx, engine=engine) if row.percent >= 100]  # noqa: PLR2004
    near = [at for at in full if at is not None and at > tx.at - DEFAULT_HOLD]
    later = [at for at in near if at > tx.at]
    return min(later) if later else tx.at if near else None


def is_over(held: Hold | None, at: int) -> bool:
    """Whether a turn that went well at this time shows that the engine works again."""
    if held is None or held.since >= at:
        return False
    return held.kind == "login" or (held.until or 0) <= at


class Window(Value):
    """How much of a window of an engine's account is used."""

    span: str
    percent: int
    resets_at: int | None


def windows(given: object) -> list[Window]:
    """How much of each window is used, as an engine tells it."""
    found = []
    for name, each in given.items() if isinstance(given, dict) else ():
        used = each.get("used_percentage") if isinstance(each, dict) else None
        if isinstance(used, int | float):
            reset = each.get("resets_at")
            resets_at = int(reset) * SECOND if isinstance(reset, int | float) else None
            found.append(Window(span=str(name), percent=int(used), resets_at=resets_at))
    return found


def changed_windows(rows: Rows, engine: str, windows: list[Window]) -> list[Window]:
    """Those of the windows that are not known like that already."""
    quotas = q.quotas_of(rows, engine=engine)
    known = [Window(span=row.span, percent=row.percent, resets_at=row.resets_at) for row in quotas]
    return [each for each in windows if each not in known]


def record_windows(tx: Tx, engine: str, windows: list[Window]) -> None:
    """Write the windows down. A limit that was told before them is reset when they say."""
    for each in windows:
        q.set_quota(tx, engine=engine, span=each.span, percent=each.percent, resets_at=each.resets_at, at=tx.at)
    held, reset = q.hold_of(tx, engine=engine), _reset_of_window(tx, engine)
    if held is not None and held.kind == "limit" and reset is not None and reset_time(held.reason, tx.at) is None:
        q.move_hold(tx, engine=engine, until=reset)
