"""The environment of agents: taken from the person who dispatches, stored for later ticks, handed over at the launch.

A dispatch by a person takes the variables of that person's shell. A dispatch by fleet itself (a tick, a handoff) takes
the variables that the last `fleet up` stored, overridden by those in the file that the setting `environment.file`
names. Both are limited to the variables that the engine's file names. Values are in private files only, and never
shown.
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
    """Return the environment variables that an agent of this engine gets if it is dispatched now.

    With `ticks`, return those that it gets when a coordinator's tick dispatches it, even if a person calls this.
    """
    named = inheritance.patterns(engine, _own_names(context))
    return inheritance.inherited(_source_of_variables(context, ticks=ticks), named)


def _source_of_variables(context: Context, *, ticks: bool) -> Mapping[str, str]:
    """Return the environment from which a dispatch takes its agent's variables.

    For a dispatch by a person it is the environment of that person's shell. For a dispatch by fleet, and with `ticks`,
    it is what the last `fleet up` stored, with those variables of this process that no engine names; this process's
    whole environment when nothing is stored. The variables in the file of `environment.file` are added: the shell's
    values win over them, and they win over all others.
    """
    in_file = _person_file(context)
    if is_asked_by_person(context) and not ticks:
        return {**in_file, **surroundings.environ()}
    held = environment.kept_environment(context.world.files)
    if held is None:
        return {**surroundings.environ(), **in_file}
    return {**inheritance.unattended(held, surroundings.environ(), _all_names(context)), **in_file}


def is_asked_by_person(context: Context) -> bool:
    """Return whether a person's own command is running: neither an agent's nor one that fleet started by itself."""
    return context.by.dispatch is None and UNATTENDED not in surroundings.environ()


def keep_environment(context: Context) -> None:
    """Store those variables of the person's environment that engines name, for dispatches by ticks. `fleet up` calls this."""
    held = inheritance.inherited(surroundings.environ(), _all_names(context))
    environment.write_variables(context.world.files, paths.KEPT_ENVIRONMENT, held)


def missing_variables(context: Context, engine: Engine) -> list[str]:
    """Return the names of variables that an agent of this engine would lack if a coordinator's tick dispatched it.

    Checks the variables that the engine requires and those in the setting `environment.pass`, but no patterns.
    """
    names = (*engine.require, *_own_names(context))
    return inheritance.lacking(environment_of_agent(context, engine, ticks=True), names) if names else []


def take_over_environment(context: Context, ident: str, engine: str) -> None:
    """Replace this process's environment by the one stored for the dispatch, and delete the stored file.

    Of its own variables the process keeps FLEET_* and those that describe its terminal. The process becomes the agent
    afterwards. A dispatch by an older fleet has no such file: then this process also keeps those of its own variables
    that the engine names.
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
    """Return the names of the variables that the person wants agents to get besides the engine's (`environment.pass`)."""
    return list(context.settings().environment_pass)


def _person_file(context: Context) -> dict[str, str]:
    """Return the variables in the file that the setting `environment.file` names; {} when it is not set."""
    path = context.settings().environment_file
    return environment.variables_in_person_file(path) if path else {}


def _all_names(context: Context) -> tuple[str, ...]:
    """Return the names and patterns of variables that the home's engines and the setting `environment.pass` name.

    Left out are engines that come with fleet and take every variable.
    """
    engines = reader.readable_engines(context.world.home)
    naming = [engine for engine in engines if engine.passes is not None or not reader.is_built_in(engine)]
    named = (name for engine in naming for name in inheritance.patterns(engine))
    return tuple(dict.fromkeys((*inheritance.BASE, *_own_names(context), *named)))
