"""Use the holds of engines: refuse or replace a held engine, admit one dispatch as a trial, lift the hold.

One limit must not make a hundred agents fail, so it holds its engine back for the whole fleet. After the limit's reset
one dispatch is let through as a trial. The others follow when the trial's model has answered or the trial has run for a
minute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fleet import errors
from fleet.model.dispatch.may_start import why_held, why_used_up
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.results.engines import HeldEngine, Limits, QuotaView
from fleet.model.text.times import MINUTE, iso, iso_or_none
from fleet.store import queries as q
from fleet.store.transaction import Change

if TYPE_CHECKING:
    from fleet.store.queries import Hold
    from fleet.store.transaction import Rows, Tx

# How long a trial has to run to count as successful, unless its model has answered before.
TRIAL = MINUTE


def refuse_held(tx: Tx, engine: str, dispatch: str, *, quota_percent: int = 100) -> None:
    """Raise EngineHeld when fleet may not start `dispatch` on an engine: it is held back, or a quota window is used up.

    A window counts as used up at `quota_percent`. When the time of a hold has passed, record the dispatch as the trial: the
    one agent that tries whether the engine works again. Lift the hold when an earlier trial has worked long enough.
    """
    why = why_engine_held(tx, engine, tx.at, quota_percent=quota_percent)
    if why is not None:
        raise why
    held = q.hold_of(tx, engine=engine)
    if held is not None:
        _admit_trial(tx, held, dispatch)


def why_engine_held(rows: Rows, engine: str, now: int, *, quota_percent: int) -> errors.EngineHeld | None:
    """Return the error EngineHeld if no agent may start on an engine; None when it is free, or one agent may try it.

    The engine also counts as held when a quota window is used to `quota_percent`.
    """
    held = q.hold_of(rows, engine=engine)
    if held is None:
        return why_used_up(engine, q.quotas_of(rows, engine=engine), now, quota_percent)
    why = why_held(engine, held.kind, held.reason, held.until, now)
    return why or _why_on_trial(rows, held, now)


def _why_on_trial(rows: Rows, held: Hold, now: int) -> errors.EngineHeld | None:
    """Return the error that no other agent may start because one agent is trying the held engine.

    None when no agent is trying the engine, or when that agent has worked so long that the engine must work again.
    """
    trying = q.dispatch_by_id(rows, id=held.trial or "")
    if trying is None or not is_unfinished(trying):
        return None
    if trying.launched_at is not None and now - max(trying.launched_at, held.tried_at or 0) >= TRIAL:
        return None
    advice = f"{held.trial} tries whether it is over; the others follow when its model has answered"
    return errors.EngineHeld(engine=held.engine, reason=held.reason, advice=advice)


class EngineOnHold(NamedTuple):
    """An engine that is held back, and why."""

    engine: str
    reason: str


def choose_engine(
    rows: Rows, choices: tuple[str, ...], *, at: int, quota_percent: int = 100
) -> tuple[str, EngineOnHold | None]:
    """Return the name of the first engine that is not held back, and why the first choice is not taken.

    The second value is None when the first choice is taken. When all are held back, returns the first choice and None:
    the start of an agent on it then raises EngineHeld. `at` is the present time in milliseconds. An engine also counts
    as held back when a quota window is used to `quota_percent`.
    """
    first, *_others = choices
    for name in choices:
        if why_engine_held(rows, name, at, quota_percent=quota_percent) is None:
            break
    else:
        return first, None
    refusal = why_engine_held(rows, first, at, quota_percent=quota_percent)
    return name, None if refusal is None else EngineOnHold(first, str(refusal))


def _admit_trial(tx: Tx, held: Hold, dispatch: str) -> None:
    """Let this dispatch try an engine that was at its limit, and record it as the engine's one trial.

    If the dispatch of an earlier trial is still at work, the engine is not at its limit any more: lift the hold instead.
    """
    engine, trial = held.engine, held.trial
    trying = q.dispatch_by_id(tx, id=trial or "")
    if trying is not None and is_unfinished(trying):
        q.lift_hold(tx, engine=engine)
        tx.note(lifted=engine)
        return
    q.try_engine(tx, engine=engine, dispatch=dispatch, was=trial, at=tx.at)
    tx.note(trial_of=engine)


def limits(rows: Rows) -> Limits:
    """Return the engines that are held back, and how much of each quota window is used."""
    return Limits(
        holds=[_held_engine(row) for row in q.every_hold(rows)],
        quotas=[
            QuotaView.made_of(row, resets_at=iso_or_none(row.resets_at), at=iso(row.at)) for row in q.all_quotas(rows)
        ],
    )


def _held_engine(row: Hold) -> HeldEngine:
    """Return a hold with its times as people read them."""
    times = {"since": iso(row.since), "until": iso_or_none(row.until), "tried_at": iso_or_none(row.tried_at)}
    return HeldEngine.made_of(row, **times)


def lift_hold(engine: str) -> Change[None]:
    """Return the change that lifts the hold of an engine that works again."""

    def work(tx: Tx) -> None:
        tx.note(lifted=engine)
        q.lift_hold(tx, engine=engine)

    return Change(f"lift the hold of {engine}", work)
