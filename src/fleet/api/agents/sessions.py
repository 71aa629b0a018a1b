"""fleet.sessions: what a session calls: the launch of its agent, and the word that it has exited. Each imports only its own verb."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.api.actor import Part

if TYPE_CHECKING:
    from fleet.model.results.dispatches import Ended
    from fleet.verbs.dispatch.launch import Launched

_LOOKS = 20
_BETWEEN_LOOKS = 0.1


class Sessions(Part):
    """The sessions of agents."""

    __slots__ = ()

    def launch(self, ident: str) -> Launched:
        """What a session's command becomes."""
        from fleet.verbs.dispatch.launch import launch

        return launch(self._by.context, ident)

    def settle(self, ident: str) -> Ended:
        """End a dispatch whose death is proven."""
        from fleet.verbs.dispatch.settle import settle

        return settle(self._by.context, ident)

    def settle_soon(self, ident: str) -> Ended:
        """Settle the dispatch of an agent that is just exiting: look a few times."""
        for _ in range(_LOOKS):
            ended = self.settle(ident)
            if ended.settled:
                break
            self._by.clock.wait(_BETWEEN_LOOKS)
        return ended
