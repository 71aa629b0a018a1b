"""fleet.coord: the coordinator of a project: its seat, ticks, Replace, handoffs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.actor import Part
from fleet.api.agents.dispatches import refuse_freer_agent
from fleet.model.dispatch.one_time_proof import VARIABLE
from fleet.model.text import texts
from fleet.store import queries as q
from fleet.verbs.coord import handoff, replace, seat, tick
from fleet.verbs.coord.seat_status import seat_status

if TYPE_CHECKING:
    from fleet.model.results.coord import HandoffView, Seated, SeatView, Ticked, Unseated
    from fleet.verbs.dispatch.plan import Wanted

ENGINE = "fleet"


class Coord(Part):
    """Coordinators."""

    __slots__ = ()

    # the seat ---------------------------------------------------------------------------------------------------------
    def show(self, project: str) -> SeatView:
        """Who coordinates a project."""
        return seat_status(self._by.view, project)

    def start(self, wanted: Wanted) -> Seated:
        """Start a project's coordinator, behind its gate."""
        self._by.may("coord.start")
        return seat.coord_spawn(self._by.context, wanted)

    def stop(self, project: str, reason: str) -> Unseated:
        """End the coordinator and empty the seat."""
        self._by.may("coord.stop")
        return seat.stop(self._by.context, project, reason)

    def replace(self, wanted: Wanted) -> Seated:
        """Start a new coordinator and wait until it has taken the seat. Raises NotProven when it did not prove itself; the old one stays."""
        speaker = self._by.may("coord.replace", project=wanted.project)
        refuse_freer_agent(self._by, speaker, "coord.replace", wanted)
        context = self._by.context
        if seat_status(context, wanted.project).holder is None:
            raise errors.NoCoordinator(project=wanted.project)
        gate = seat.take_spawn_gate(context, wanted.project)
        try:
            return replace.replace(context, wanted)
        finally:
            gate.give()

    # ticks ------------------------------------------------------------------------------------------------------------
    def tick(self, project: str) -> Ticked:
        """One tick, by the coordinator that is speaking; with what it needs to know next."""
        if self._by.speaker is None:
            raise errors.Refused(what=f"only the coordinator ticks; `fleet coord start -p {project}` starts one")
        self._by.may("coord.tick")
        return tick.tick(self._by.context, project, self._by.speaker, nonce=os.environ.get(VARIABLE))

    # handoffs ---------------------------------------------------------------------------------------------------------
    def hand_off(self, ident: str, *, reason: str, written: str = "") -> HandoffView:
        """Write the document and the queue entry; nothing is ended by it."""
        self._by.may("coord.hand_off", agent=ident)
        why = texts.text("reason", reason)
        return handoff.hand_off(self._by.context, ident, reason=why, written=written, by=str(self._by.actor))

    def drain(self, project: str | None = None) -> list[HandoffView]:
        """Carry on every queued handoff as far as it goes now."""
        self._by.may("coord.drain")
        return handoff.drain(self._by.context, project)

    def finish_handoff(self, entry: str, *, limit: float) -> HandoffView:
        """Carry on one handoff until it is finished, for a bounded time."""
        self._by.may("coord.finish_handoff")
        return handoff.finish(self._by.context, entry, limit=limit)

    def handoffs(self, project: str | None = None) -> list[HandoffView]:
        """Every handoff, oldest first."""
        rows = self._by.store.read(lambda snapshot: q.listed_handoffs(snapshot, project=project))
        return [handoff.view(row) for row in rows]

    def handoff(self, ident: str) -> HandoffView:
        """One handoff with its document, by its own id or that of the agent."""
        for entry in reversed(self.handoffs()):
            if ident in {entry.id, entry.dispatch}:
                return entry.replaced(text=self._by.files_of_home(entry.document))
        raise errors.Absent(what=f"handoff {ident}")
