"""What a coordinator does, and what is done with coordinators: the seat, ticks, Replace, handoffs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fleet.api.running import Running
from fleet.errors.absent import NoCoordinator
from fleet.errors.families import Absent, Refused
from fleet.model.dispatch.one_time_proof import VARIABLE
from fleet.model.text import texts
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.coord import briefing, handoff, replace, seat, tick
from fleet.verbs.coord.seat_status import seat_status

if TYPE_CHECKING:
    from fleet.store.transaction import Row, Tx
    from fleet.verbs.dispatch.plan import Wanted

Document = dict[str, Any]
ENGINE = "fleet"


class Coordinating(Running):
    """Coordinates projects."""

    # the seat ---------------------------------------------------------------------------------------------------------
    def coordinator(self, project: str) -> Document:
        """Who coordinates a project."""
        return seat_status(self.view, project)

    def coord_stop(self, project: str, reason: str) -> Document:
        """End the coordinator and empty the seat."""
        self.may("coord_stop")
        return seat.stop(self.ground, project, reason)

    def coord_replace(self, wanted: Wanted) -> Document:
        """Change the coordinator; the old one goes on until the new one has proven itself."""
        self._refuse_freer(self.may("coord_replace", project=wanted.project), wanted)
        if self.coordinator(wanted.project)["holder"] is None:
            raise NoCoordinator(project=wanted.project)
        gate = seat.spawn_gate(self.ground, wanted.project)
        try:
            return replace.replace(self.ground, wanted)
        finally:
            gate.give()

    # ticks ------------------------------------------------------------------------------------------------------------
    def tick(self, project: str) -> Document:
        """One tick, by the coordinator that is speaking; with what it needs to know next."""
        if self.speaker is None:
            raise Refused(what=f"only the coordinator ticks; `fleet coord start -p {project}` starts one")
        self.may("tick")
        done = tick.tick(self.ground, project, self.speaker, nonce=os.environ.get(VARIABLE))
        now = self.clock.now()
        told = self.store.read(lambda rows: briefing.briefing(rows, project, now))
        return done | {"next": told, "messages": self._handed_out(project, self.speaker)}

    def _handed_out(self, project: str, ident: str) -> list[Document]:
        """What waits for the coordinator itself, with its id; written down once that it was handed out."""
        waiting = self.store.read(lambda rows: rows.all(q.WAITING_MESSAGES, dispatch=ident))
        new = [row["id"] for row in waiting if row["delivered_at"] is None]
        if new:
            self.commit(_deliver(project, ident, new))
        return self.store.read(lambda rows: briefing.messages(rows, ident))

    def acknowledge(self, ids: list[str]) -> Document:
        """What the speaker has read and applied; each id once."""
        if self.speaker is None:
            raise Refused(what="only an agent acknowledges its messages")
        self.may("acknowledge")
        return self.commit(_acknowledge(self.speaker, ids))

    # handoffs ---------------------------------------------------------------------------------------------------------
    def hand_off(self, ident: str, *, reason: str, written: str = "") -> Document:
        """Write the document and the queue entry; nothing is ended by it."""
        self.may("hand_off", agent=ident)
        return handoff.hand_off(
            self.ground, ident, reason=texts.text("reason", reason), written=written, by=str(self.actor)
        )

    def drain(self, project: str | None = None) -> list[Document]:
        """Carry on every queued handoff as far as it goes now."""
        self.may("drain")
        return handoff.drain(self.ground, project)

    def drained(self, entry: str, *, limit: float) -> Document:
        """Carry on one handoff until it is finished, for a bounded time."""
        self.may("drained")
        return handoff.drained(self.ground, entry, limit=limit)

    def handoffs(self, project: str | None = None) -> list[Document]:
        """Every handoff, oldest first."""
        rows = self.store.read(lambda snapshot: snapshot.all(q.LISTED_HANDOFFS, project=project))
        return [handoff.document(row) for row in rows]

    def handoff(self, ident: str) -> Document:
        """One handoff with its document, by its own id or that of the agent."""
        for entry in reversed(self.handoffs()):
            if ident in {entry["id"], entry["dispatch"]}:
                return entry | {"text": self.files_of_home(entry["document"])}
        raise Absent(what=f"handoff {ident}")


def _deliver(project: str, ident: str, ids: list[str]) -> Change:
    def work(tx: Tx) -> Row:
        tx.about(project)
        tx.dispatch = ident
        for each in ids:
            tx.run(q.DELIVER_MESSAGE, id=each, dispatch=ident, how="tick", at=tx.at)
        tx.note(delivered=ids)
        return {"delivered": ids}

    return Change(f"hand {len(ids)} messages to {ident}", work)


def _acknowledge(ident: str, ids: list[str]) -> Change:
    def work(tx: Tx) -> Row:
        tx.dispatch = ident
        applied = [each for each in ids if tx.run(q.ACKNOWLEDGE_MESSAGE, id=each, dispatch=ident, at=tx.at)]
        tx.note(acknowledged=applied)
        return {"acknowledged": applied, "changed": bool(applied)}

    return Change(f"{ident} acknowledges {', '.join(ids)}", work, *ids)
