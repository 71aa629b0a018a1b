"""The world of a home, and what verbs stand on."""

from __future__ import annotations

from fleet.api.acts import Acts
from fleet.store import queries as q
from fleet.verbs.context import Ground
from fleet.world.world import World


class Outside(Acts):
    """One actor at one fleet home, with everything outside."""

    _world: World | None = None

    @property
    def world(self) -> World:
        """Everything outside."""
        if self._world is None:
            self._world = World(self.home, self.funnel, self.record)
            self._world.repositories = self._repositories
        return self._world

    @world.setter
    def world(self, world: World) -> None:
        """Use another outside, with its clock and its ids: a simulated one."""
        self._world, self.clock, self.ids = world, world.clock, world.ids
        world.repositories = self._repositories

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
