"""Telling: how far a job is, as events that each surface shows in its own way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fleet.model.jobs import items
from fleet.store import queries as q

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.store.transaction import Row
    from fleet.verbs.context import Context

    Event = dict[str, Any]
    Tell = Callable[[Event], None]

_EVERY = 0.5


class Telling:
    """What a runner says while it goes on."""

    def __init__(self, context: Context, job: Row, tell: Tell) -> None:
        self._context = context
        self._job = job
        self._tell = tell
        self._began = context.world.clock.ticks()
        self._last = 0.0
        self._before: int | None = None

    def job(self, state: str, **facts: Any) -> None:  # noqa: ANN401
        """The job as a whole."""
        self._tell({"event": "job", "job": self._job["id"], "name": self._job["name"], "state": state, **facts})

    def item(self, item: Row, state: str, reason: str | None = None) -> None:
        """One item went on."""
        shown = items.label(json.loads(item["data"])) if item["part"] == "map" else item["part"]
        head = {"event": "item", "job": self._job["id"], "item": item["id"], "label": shown, "state": state}
        self._tell(head | {"attempt": item["attempts"], "reason": (reason or "").splitlines()[0] if reason else None})

    def progress(self, *, now: bool = False) -> None:
        """Counts, rate and how long it may take; not more often than people can read."""
        ticks = self._context.world.clock.ticks()
        if not now and ticks - self._last < _EVERY:
            return
        self._last = ticks
        self._tell(self.counted())

    def counted(self) -> Event:
        """How far it is."""
        counts = count(self._context, self._job["id"])
        ended = counts["done"] + counts["dead"] + counts["skipped"] + counts["parked"]
        self._before = ended if self._before is None else self._before
        passed = self._context.world.clock.ticks() - self._began
        rate = (ended - self._before) / passed if passed > 0 else 0.0
        left = counts["total"] - ended
        head = {"event": "progress", "job": self._job["id"], **counts, "rate": round(rate, 3)}
        return head | {"eta": round(left / rate) if rate > 0 and left else (0 if not left else None)}


def count(context: Context, job: str) -> dict[str, int]:
    """How many items are in each state, and in all."""
    found = {row.state: row.n for row in context.store.read(lambda rows: q.count_items(rows, job=job))}
    return {state: found.get(state, 0) for state in items.STATES} | {"total": sum(found.values())}
