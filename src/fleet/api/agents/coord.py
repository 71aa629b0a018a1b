"""fleet.coord: the coordinator of a project: its seat, its ticks, its replacement, and handoffs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.actor import Part
from fleet.api.agents.dispatches import refuse_freer_agent
from fleet.model.dispatch.one_time_proof import VARIABLE
from fleet.model.dispatch.seat_steps import OWN_LOOP
from fleet.model.names import DispatchId
from fleet.model.text import texts
from fleet.store import queries as q
from fleet.verbs.agents import messages
from fleet.verbs.context import Committer, Context
from fleet.verbs.coord import daemon_duty, replace, seat, tick, wake
from fleet.verbs.coord.handoffs import handoff
from fleet.verbs.coord.seat_status import seat_status
from fleet.world.process import surroundings

if TYPE_CHECKING:
    from fleet.model.results.coord import HandoffView, Seated, SeatView, Ticked, Unseated
    from fleet.verbs.dispatch.plan import Wanted

ENGINE = OWN_LOOP


class Coord(Part):
    """Coordinators and handoffs."""

    __slots__ = ()

    # the seat ---------------------------------------------------------------------------------------------------------
    def show(self, project: str) -> SeatView:
        """Return who holds the coordinator's seat of a project, and whether that coordinator is alive."""
        return seat_status(self._by.view, project)

    def start(self, wanted: Wanted, *, after: str | None = None) -> Seated:
        """Start a project's coordinator. A dead one is replaced, as by `replace`.

        Raise CoordinatorLives when one is running or cannot be proven dead, CoordSpawnInProgress while another process
        starts one. `after` is the dispatch id of a dead coordinator whose seat the new one is to take: raise NotSeated
        when it does not hold the seat any more.
        """
        self._by.may("coord.start")
        return seat.coord_spawn(self._by.context, wanted, after=after)

    def stop(self, project: str, reason: str) -> Unseated:
        """End the coordinator of a project and empty its seat; a candidate for the seat is withdrawn.

        When the coordinator cannot be settled yet, `stopped` of the result is False and `why` says the reason. Raise
        NoCoordinator when the seat is empty.
        """
        self._by.may("coord.stop")
        return seat.stop(self._by.context, project, reason)

    def replace(self, wanted: Wanted) -> Seated:
        """Start a new coordinator and wait until it has the seat.

        Raise NotProven when the new one does not prove itself in time: the old coordinator keeps the seat then. Raise
        NoCoordinator when the project has none.
        """
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
        """Do one tick for the coordinator that calls this. Returns what was done and what it has to decide next.

        A candidate takes the seat by its first tick. Raise Refused for a person, NotSeated for any other agent that
        does not hold the seat, TickInProgress while another tick of the project runs.
        """
        if self._by.speaker is None:
            raise errors.Refused(what=f"only the coordinator ticks; `fleet coord start -p {project}` starts one")
        self._by.may("coord.tick")
        return tick.tick(self._by.context, project, self._by.speaker, nonce=surroundings.environ().get(VARIABLE))

    # the daemon -------------------------------------------------------------------------------------------------------
    def held(self) -> dict[str, str]:
        """Return the coordinators that this process, the daemon, plays in their seats: dispatch ids by project."""
        return daemon_duty.held_seats(self._by.context)

    def lost(self) -> dict[str, str]:
        """Return the coordinators that a daemon played and that are dead or have ended: their dispatch ids by project.

        The daemon that calls this has to `start` a new one in place of each. A coordinator that was asked to exit is
        left out.
        """
        return daemon_duty.lost_seats(self._by.context)

    def unheld(self) -> dict[str, str]:
        """Return the coordinators that a daemon should play and no running daemon plays: their dispatch ids by project.

        A coordinator that was asked to exit is left out.
        """
        return daemon_duty.unheld_seats(self._by.view)

    def tick_held(self, project: str, holder: str) -> Ticked:
        """Do one tick for fleet's own coordinator with the dispatch id `holder`, which this daemon plays.

        Raise NotSeated when that coordinator no longer holds the seat. Messages to it are written into its log and
        acknowledged.
        """
        self._by.may("coord.tick_held")
        context = self._speaking_as(holder)
        daemon_duty.refuse_not_held(context, project, holder)
        ticked = tick.tick(context, project, holder)
        if ticked.messages:
            daemon_duty.write_lines(
                context, holder, [f"message {each.id} from {each.sender}: {each.text}" for each in ticked.messages]
            )
            context.commit(messages.acknowledge(holder, [each.id for each in ticked.messages]))
        return ticked

    def _speaking_as(self, holder: str) -> Context:
        """Return a request in the name of the coordinator with the dispatch id `holder`.

        The store refuses its changes once that coordinator has lost the seat.
        """
        by = self._by
        committer = Committer(store=by.store, actor=holder, dispatch=DispatchId(holder), clock=by.clock, ids=by.ids)
        committer.refusal = by.moved_error
        return Context(home=by.home, by=committer, world=by.world)

    def write_log(self, holder: str, lines: list[str]) -> None:
        """Add lines to the log of the coordinator with the dispatch id `holder`, which the daemon plays.

        `fleet peek` and `fleet logs` show that log.
        """
        self._by.may("coord.write_log")
        daemon_duty.write_lines(self._by.context, holder, lines)

    def watch(self, project: str) -> list[str] | None:
        """Wake the agent that coordinates a project if there is news for it. Continue failed turns, deliver messages.

        Returns a line of text about each thing done, [] while a tick runs; None when no agent coordinates the project.
        """
        self._by.may("coord.watch")
        return wake.watch(self._by.context, project)

    # handoffs ---------------------------------------------------------------------------------------------------------
    def hand_off(self, ident: str, *, reason: str, written: str = "") -> HandoffView:
        """Write the handoff document of an agent and queue the handoff. The agent is not ended yet.

        `written` are notes of the agent for its successor, '' for none. `changed` of the result is False when a handoff
        of the agent was queued before; its document is kept then. Raise Refused when the agent has ended or is a merge,
        NotSeated for a coordinator that does not hold the seat.
        """
        self._by.may("coord.hand_off", agent=ident)
        why = texts.text("reason", reason)
        return handoff.hand_off(self._by.context, ident, reason=why, written=written, by=str(self._by.actor))

    def drain(self, project: str | None = None) -> list[HandoffView]:
        """Advance every queued handoff as far as possible without waiting. Returns these handoffs.

        With `project` None, a person advances the handoffs of all projects, an agent those of its own project. Raise
        NotAllowed when an agent names another project.
        """
        speaker = self._by.may("coord.drain", project=project)
        return handoff.drain(self._by.context, project if speaker is None else speaker.project or "")

    def drain_later(self) -> None:
        """Start a background process that advances the queued handoffs, and return at once.

        An agent calls this to be handed off itself: the process survives the end of the agent.
        """
        self._by.may("coord.drain_later")
        self._by.world.start_fleet("drain", "--wait")

    def finish_handoff(self, entry: str, *, limit: float) -> HandoffView:
        """Advance a handoff until it is done or dropped, or `limit` seconds have passed, and return its view.

        `entry` is the handoff's id. When the time runs out first, the view's state is still "queued", and `deferred`
        says what the handoff waits for. Raise Absent when there is no such handoff, NotAllowed when an agent names a
        handoff of another project.
        """
        row = self._by.store.read(lambda rows: q.handoff_by_id(rows, id=entry))
        self._by.may("coord.finish_handoff", project=row.project if row is not None else None)
        return handoff.finish(self._by.context, entry, limit=limit)

    def handoffs(self, project: str | None = None) -> list[HandoffView]:
        """Return every handoff, the ended ones too, oldest first, of one project or (None) of all."""
        rows = self._by.store.read(lambda snapshot: q.listed_handoffs(snapshot, project=project))
        return [handoff.view(row) for row in rows]

    def handoff(self, ident: str) -> HandoffView:
        """Return the newest handoff with this id or of this agent, with the text of its document.

        Raise Absent when there is none.
        """
        for entry in reversed(self.handoffs()):
            if ident in {entry.id, entry.dispatch}:
                return entry.replaced(text=self._by.files_of_home(entry.document))
        raise errors.Absent(what=f"handoff {ident}")
