"""fleet.sessions: launch the agent of a session, and settle it after its exit. Each method imports one verb."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.api.actor import Part

if TYPE_CHECKING:
    from fleet.model.results.dispatches import Ended
    from fleet.verbs.dispatch.launch import Launched

_LOOKS = 20
_BETWEEN_LOOKS = 0.1


class Sessions(Part):
    """The sessions in which agents run."""

    __slots__ = ()

    def launch(self, ident: str) -> Launched:
        """Mark a dispatch as launched. Returns the program that the session's process then becomes."""
        from fleet.verbs.dispatch.launch import launch

        return launch(self._by.context, ident)

    def settle(self, ident: str) -> Ended:
        """End a dispatch if its death is proven; the result says why not otherwise."""
        from fleet.verbs.dispatch.settle import settle

        return settle(self._by.context, ident)

    def settle_soon(self, ident: str) -> Ended:
        """Settle the dispatch of an agent that is just exiting: try for up to two seconds."""
        for _ in range(_LOOKS):
            ended = self.settle(ident)
            if ended.settled:
                break
            self._by.clock.wait(_BETWEEN_LOOKS)
        return ended
