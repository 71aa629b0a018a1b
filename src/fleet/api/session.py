"""What a session calls: the launch of its agent, and the word that it has exited. With what these two need, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.api.acts import Acts
from fleet.store import queries as q
from fleet.verbs.context import Ground
from fleet.world.world import World

if TYPE_CHECKING:
    from fleet.verbs.dispatch.launch import Launched

Document = dict[str, Any]
_LOOKS = 20
_BETWEEN_LOOKS = 0.1


class Session(Acts):
    """Begins and ends agents."""

    _world: World | None = None

    @property
    def world(self) -> World:
        """Everything outside."""
        if self._world is None:
            self._world = World(self.home, self.funnel, self.record)
            self._world.git.repositories = self._repositories
        return self._world

    def _repositories(self) -> list[str]:
        return [row["path"] for row in self.store.read(lambda rows: rows.all(q.ALL_PROJECTS))]

    @property
    def ground(self) -> Ground:
        """What verbs that judge or act stand on. Refused while the home is not where it remembers to be."""
        if self.moved is not None:
            raise self.moved
        return self.view

    @property
    def view(self) -> Ground:
        """The same for verbs that only look."""
        return Ground(store=self.store, world=self.world, commit=self.commit, settings=self.settings)

    def close(self) -> None:
        """Let go of the store, and of the home."""
        super().close()
        if self._world is not None:
            self._world.close()

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
