"""fleet.engines: the programs that agents run in, their limits, and their hooks in a person's own settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.actor import Part
from fleet.engines import reader
from fleet.model import names
from fleet.model.agents.budgets import day_of
from fleet.model.settings.table import LEAST_DOLLARS, MOST_DOLLARS
from fleet.store import tasks
from fleet.verbs.agents import failed_turns, install_hooks
from fleet.verbs.agents.cost import apply_holds
from fleet.verbs.agents.cost.allow_more import allow_more
from fleet.verbs.homes import sandbox

if TYPE_CHECKING:
    from fleet.engines.reader import Engine
    from fleet.model.results.engines import Allowed, HooksInstalled, HooksOf, Lifted, Limits


class Engines(Part):
    """The engines of a home."""

    __slots__ = ()

    def all(self) -> dict[str, Engine]:
        """Return every engine by its name."""
        return reader.all_engines(self._by.home)

    def show(self, name: str) -> Engine:
        """Return one engine by its name."""
        return reader.engine(self._by.home, name)

    def sandbox(self, engine: Engine) -> str | None:
        """Return the name of the sandbox that the settings want for agents of an engine; None for no sandbox."""
        return sandbox.wanted_sandbox(self._by.view, engine)

    def limits(self) -> Limits:
        """Return the engines that are held back by a limit, and how much of each quota window is used."""
        return self._by.store.read(apply_holds.limits)

    def lift(self, engine: str) -> Lifted:
        """Release an engine that a limit holds back, because a person says that it works: agents start on it again.

        One agent that the limit has stopped goes on first, as a trial.
        """
        self._by.may("engines.lift")
        return failed_turns.try_engine_again(self._by.context, names.engine(engine))

    def allow(self, dollars: float, *, project: str | None = None, slug: str | None = None) -> Allowed:
        """Allow `dollars` beyond the budget of a task; without `slug`, of a project; without `project`, of today.

        Agents that the budget stopped are told to go on. Raise BadInput for an amount that cannot be allowed.
        """
        self._by.may("engines.allow")
        if not LEAST_DOLLARS <= dollars <= MOST_DOLLARS:
            amounts = f"from {LEAST_DOLLARS} to {MOST_DOLLARS}"
            raise errors.BadInput(what=f"{dollars:g} dollars cannot be allowed; say an amount {amounts}")
        context = self._by.context
        if project is None:
            return allow_more(context, "day", day_of(context.world.clock.now()), dollars)
        context.project(project)
        if slug is None:
            return allow_more(context, "project", project, dollars)
        context.store.read(lambda rows: tasks.state(rows, project, names.slug(slug)))
        return allow_more(context, "task", f"{project}/{slug}", dollars)

    def install_hooks(self, engine: str) -> HooksInstalled:
        """Install fleet's hooks in the person's own settings of an engine."""
        self._by.may("engines.install_hooks")
        return install_hooks.install(self._by.context, self.show(engine))

    def uninstall_hooks(self, engine: str) -> HooksInstalled:
        """Remove fleet's hooks from the person's own settings of an engine."""
        self._by.may("engines.uninstall_hooks")
        return install_hooks.uninstall(self._by.context, self.show(engine))

    def hooks(self) -> list[HooksOf]:
        """Return for each engine that has hooks whether fleet's hooks are installed in the person's own settings."""
        view = self._by.view
        return [install_hooks.status(view, engine) for engine in self.all().values() if engine.hooks]
