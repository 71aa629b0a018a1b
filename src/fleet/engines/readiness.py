"""Check, before anything is created, whether an engine can be started here: its program, autonomy and dialogs."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tomllib
from typing import TYPE_CHECKING

from fleet import errors
from fleet.engines.program_files import expand_path, value_at
from fleet.world.world import fleet_program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.engines.reader import Before, Engine


def program_of(engine: Engine, command: tuple[str, ...], env: Mapping[str, str] = os.environ) -> str:
    """Return the absolute path of the program that the engine runs.

    `{python}` is this interpreter and `{fleet}` fleet's own program. For an engine without a program of its own, it is
    the first word of `command`. Raise EngineMissing when there is no such word, or when the program is not on the PATH
    of `env`.
    """
    if engine.program == "{python}":
        return sys.executable
    if engine.program == "{fleet}":
        return fleet_program()
    name = engine.program or (command[0] if command else "")
    if not name:
        advice = f"name the command after --: `fleet dispatch SLUG --engine {engine.name} -- COMMAND`"
        raise errors.EngineMissing(engine=engine.name, program="(none given)", advice=advice)
    path = shutil.which(name, path=env.get("PATH", os.defpath))
    if path is None:
        advice = f"install it: {engine.install}" if engine.install else "install it, or put it on the PATH"
        raise errors.EngineMissing(engine=engine.name, program=name, advice=advice)
    return os.path.abspath(path)


def check(
    engine: Engine,
    *,
    autonomy: str | None,
    repository: str,
    env: Mapping[str, str] = os.environ,
    sandboxed: bool = False,
) -> None:
    """Raise the error that says why the engine cannot be started here, if there is a reason.

    It is AutonomyRefused for an autonomy that was not chosen or cannot be given, and EngineNotReady when a dialog would
    stop the engine. An engine without autonomies accepts any. With `sandboxed`, fleet starts the agent in a sandbox.
    """
    if engine.autonomy:
        _check_autonomy(engine, autonomy, sandboxed=sandboxed or _declares_sandbox(engine, env))
    for before in engine.before:
        if before.unless != autonomy and not _is_met(before, repository, env):
            facts = {"{repository}": repository}
            raise errors.EngineNotReady(
                engine=engine.name, why=_fill(before.why, facts), advice=_fill(before.advice, facts)
            )


def _declares_sandbox(engine: Engine, env: Mapping[str, str]) -> bool:
    """Return whether the environment says, by the engine's own variable, that there is a sandbox around fleet."""
    return bool(engine.root_sandbox) and env.get(engine.root_sandbox) == "1"


def _check_autonomy(engine: Engine, autonomy: str | None, *, sandboxed: bool) -> None:
    """Raise AutonomyRefused when the autonomy is not chosen, not known, or full for root without a sandbox."""
    known = ", ".join(engine.autonomy)
    if autonomy is None:
        advice = f"say --autonomy, or set autonomy in fleet.toml: one of {known}"
        raise errors.AutonomyRefused(
            engine=engine.name, autonomy="(not chosen)", why="it is never chosen silently", advice=advice
        )
    if autonomy not in engine.autonomy:
        raise errors.AutonomyRefused(
            engine=engine.name, autonomy=autonomy, why="the engine does not have it", advice=f"choose one of {known}"
        )
    if autonomy == "full" and os.geteuid() == 0 and not sandboxed:
        declare = f", or declare a sandbox around fleet with {engine.root_sandbox}=1" if engine.root_sandbox else ""
        advice = f'run as another user, or set agents.sandbox = "bwrap" in config.toml{declare}'
        raise errors.AutonomyRefused(
            engine=engine.name, autonomy=autonomy, why="this is root, without a sandbox", advice=advice
        )


def _is_met(before: Before, repository: str, env: Mapping[str, str]) -> bool:
    """Return whether the file named in `before` has the required value.

    Where the keys name the {repository}, a directory above it serves as well: an engine that trusts a directory also
    trusts the directories below it.
    """
    document = _read_document(expand_path(before.file, env))
    here = repository
    while True:
        if value_at(document, [_fill(part, {"{repository}": here}) for part in before.path]) == before.equals:
            return True
        if here == "/" or "{repository}" not in "".join(before.path):
            return False
        here = os.path.dirname(here)


def _read_document(path: str) -> object:
    """Return the content of a TOML or JSON file; None when the file cannot be read."""
    try:
        with open(path, "rb") as file:
            return tomllib.load(file) if path.endswith(".toml") else json.load(file)
    except (OSError, ValueError, RecursionError):
        return None


def _fill(text: str, facts: dict[str, str]) -> str:
    """Return a text with each placeholder replaced by its value."""
    for name, value in facts.items():
        text = text.replace(name, value)
    return text
