"""What a session calls: the launch of its agent, and the word that it has exited. With what these two need, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.api.outside import Outside

if TYPE_CHECKING:
    from fleet.verbs.dispatch.launch import Launched

Document = dict[str, Any]
_LOOKS = 20
_BETWEEN_LOOKS = 0.1


class Session(Outside):
    """Begins and ends agents."""

    def launch(self, ident: str) -> Launched:
        """What a session's command becomes."""
        from fleet.verbs.dispatch.launch import launch

        return launch(self.ground, ident)

    def settle(self, ident: str) -> Document:
        """End a dispatch whose death is proven."""
        from fleet.verbs.dispatch.settle import settle

        return settle(self.ground, ident)

    def settle_soon(self, ident: str) -> Document:
        """The same, for an agent that is just exiting: look a few times."""
        for _ in range(_LOOKS):
            done = self.settle(ident)
            if done["settled"]:
                break
            self.clock.wait(_BETWEEN_LOOKS)
        return done
