"""fleet.sessions: launch the agent of a tmux session, and settle its dispatch after its exit.

Each method imports one verb.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.api.actor import Part
from fleet.store import queries as q

if TYPE_CHECKING:
    from fleet.model.results.dispatches import Ended
    from fleet.verbs.dispatch.facts import Deaths
    from fleet.verbs.dispatch.launch import Launched

_LOOKS = 20
_BETWEEN_LOOKS = 0.1


class Sessions(Part):
    """The tmux sessions in which agents run."""

    __slots__ = ()

    def launch(self, ident: str) -> Launched:
        """Record that the agent of a dispatch runs in this process.

        Returns the program that the process has to become (exec). Raise Superseded when the dispatch was launched
        before, or has ended.
        """
        from fleet.verbs.dispatch.launch import launch

        return launch(self._by.context, ident)

    def settle(self, ident: str) -> Ended:
        """End a dispatch if its process is proven dead, and release what the dispatch held.

        The result says whether the dispatch was settled, and if not, why.
        """
        from fleet.verbs.dispatch.settle import settle

        return settle(self._by.context, ident)

    def deaths(self) -> Deaths:
        """Return what is known of this home's unfinished dispatches: which agents are dead, and which processes live.

        `dead` are the ids of the dead agents, `awaited` those among them that the living runner of a job is about to
        settle, `alive` the processes of living agents. `others` counts the dispatches that are not dead: alive,
        starting or unknown. Merges, and coordinators that the daemon plays, are left out.
        """
        from fleet.verbs.dispatch.facts import find_deaths

        return find_deaths(self._by.context)

    def settle_soon(self, ident: str) -> Ended:
        """Settle the dispatch of an agent that is exiting: try for up to two seconds, then return the last result.

        Once the dispatch is settled, start fleet's own coordinator again if the agent was that coordinator, and start
        the project's watch (`fleet coord watch`) if it is missing.
        """
        for _ in range(_LOOKS):
            ended = self.settle(ident)
            if ended.settled:
                break
            self._by.clock.wait(_BETWEEN_LOOKS)
        if ended.settled:
            self._restart_coordinator(ident)
            self._start_missing_watch(ident)
        return ended

    def _restart_coordinator(self, ident: str) -> None:
        """Start fleet's own coordinator loop again if this dispatch was that loop, has the seat, and died by itself.

        Do nothing when somebody asked the loop to exit, or when the limit of restarts is reached.
        """
        projects = self._by.store.read(lambda rows: q.seats_held_by(rows, dispatch=ident))
        if projects:
            from fleet.verbs.coord.restart import restart_if_dead_loop

            restart_if_dead_loop(self._by.context, projects[0].project)

    def _start_missing_watch(self, ident: str) -> None:
        """Start the process that wakes the coordinator of the ended agent's project, if it is not running."""
        from fleet.verbs.coord.wake import start_watch
        from fleet.verbs.dispatch.journal import recorded_dispatch

        start_watch(self._by.context, recorded_dispatch(self._by.context, ident).project)
