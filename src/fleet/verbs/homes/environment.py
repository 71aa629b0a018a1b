"""The environment of agents: taken from whoever asks, kept for the ticks, handed over at the launch.

A dispatch that a person asks for takes the variables of that person's shell. One that no person asks for (a tick, a
handoff) takes what the last `fleet up` kept, and over it the file that the setting `environment.file` names. Both are
limited to the variables that the engine's file names. Values are in private files only, and never shown.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet.engines import inheritance, reader
from fleet.world.home import environment, paths
from fleet.world.process import surroundings
from fleet.world.world import UNATTENDED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.engines.reader import Engine
    from fleet.verbs.context import Context


def environment_of_agent(context: Context, engine: Engine, *, ticks: bool = False) -> dict[str, str]:
    """Return the variables that an agent of the engine gets if it is dispatched now.

    With `ticks`, return those that it would get from a tick, whoever asks.
    """
    named = inheritance.patterns(engine, _own_names(context))
    return inheritance.inherited(_source(context, ticks=ticks), named)


def _source(context: Context, *, ticks: bool) -> Mapping[str, str]:
    """Return the environment from which a dispatch takes variables."""
    in_file = _person_file(context)
    if is_asked_by_person(context) and not ticks:
        return {**in_file, **surroundings.environ()}
    held = environment.kept_environment(context.world.files)
    if held is None:
        return {**surroundings.environ(), **in_file}
    return {**inheritance.unattended(held, surroundings.environ(), _all_names(context)), **in_file}


def is_asked_by_person(context: Context) -> bool:
    """Whether a person's own command asks: no agent, and no command that fleet has started by itself."""
    return context.by.dispatch is None and UNATTENDED not in surroundings.environ()


def keep_environment(context: Context) -> None:
    """Keep what engines name of the person's environment, for the dispatches of ticks. `fleet up` calls this."""
    held = inheritance.inherited(surroundings.environ(), _all_names(context))
    environment.write_variables(context.world.files, paths.KEPT_ENVIRONMENT, held)


def missing_variables(context: Context, engine: Engine) -> list[str]:
    """Return the names of variables that the engine requires or the person wants passed on, and a tick would not pass on."""
    names = (*engine.require, *_own_names(context))
    return inheritance.lacking(environment_of_agent(context, engine, ticks=True), names) if names else []


def take_over_environment(context: Context, ident: str, engine: str) -> None:
    """Make the environment that waits for a dispatch that of this process, which becomes the agent; delete the file.

    An older fleet left no file: then the variables of the pane count, as far as the engine names them.
    """
    name = paths.agent_environment(ident)
    passed = environment.read_variables(context.world.files, name)
    if passed is None:
        named = inheritance.patterns(reader.engine(context.world.home, engine), _own_names(context))
        passed = inheritance.inherited(surroundings.environ(), named)
    adopted = inheritance.at_launch(surroundings.environ(), passed)
    context.world.files.unlink(name)
    os.environ.clear()
    os.environ.update(adopted)


def _own_names(context: Context) -> list[str]:
    """Return the names of further variables that the person wants agents to have."""
    return list(context.setting("environment.pass"))


def _person_file(context: Context) -> dict[str, str]:
    path = context.setting("environment.file")
    return environment.variables_in_person_file(path) if path else {}


def _all_names(context: Context) -> tuple[str, ...]:
    """Return the names that any engine of the home has; fleet's own engines that take everything do not count."""
    engines = reader.readable_engines(context.world.home)
    naming = [engine for engine in engines if engine.passes is not None or not reader.is_built_in(engine)]
    named = (name for engine in naming for name in inheritance.patterns(engine))
    return tuple(dict.fromkeys((*inheritance.BASE, *_own_names(context), *named)))
