"""Inject hooks: give an engine the settings file and variables that make it report events to fleet.

The files depend only on the engine's file, the autonomy and the path of the fleet program. They are in the fleet home,
are shared by all agents with the same engine and autonomy, and are written only when they change. Nothing is written
into a worktree or into the person's own settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.engines import hooks, permissions
from fleet.model import FLEET_HOOKS
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.engines.reader import Engine
    from fleet.model.agents.allow import Allowed
    from fleet.verbs.context import Context


def inject(context: Context, engine: Engine, autonomy: str | None) -> tuple[tuple[str, ...], dict[str, str]]:
    """Write an engine's hook files. Returns the command-line words and environment variables that activate them.

    Both are empty when the engine has no hooks, or none at this level of autonomy (None: no level is set).
    """
    if engine.hooks is None or (engine.hooks.at and autonomy not in engine.hooks.at):
        return (), {}
    write_dialect(context, engine)
    path = _write_if_changed(
        context,
        paths.hook_settings(engine.name, autonomy),
        hooks.settings(engine, autonomy, context.world.fleet_program),
    )
    event_words = hooks.words_of_events(engine, context.world.fleet_program)
    words = (*(word.replace("{settings}", path) for word in engine.hooks.words), *event_words)
    env = {name: value.replace("{settings}", path) for name, value in engine.hooks.env.items()}
    return words, {**env, FLEET_HOOKS: engine.name}


def inject_rules(context: Context, engine: Engine, project: str, role: str, allowed: Allowed) -> dict[str, str]:
    """Write the file of commands that an agent may run unasked.

    Returns the environment variable that names the file, as {name: path}; {} when the engine reads no such file.
    """
    if engine.rules is None:
        return {}
    text = permissions.rules_text(engine.rules, allowed)
    return {engine.rules.variable: _write_if_changed(context, paths.rules(project, engine.name, role), text)}


def write_dialect(context: Context, engine: Engine) -> None:
    """Write the file from which `fleet hook` reads how this engine names and formats its events."""
    _write_if_changed(context, paths.hook_dialect(engine.name), hooks.dialect(engine))


def _write_if_changed(context: Context, name: str, text: str) -> str:
    """Write a file of the home, unless it already has this text.

    `name` is relative to the home. Returns the absolute path of the file.
    """
    files = context.world.files
    try:
        if files.read(name) == text.encode():
            return f"{files.root}/{name}"
    except OSError:
        pass
    return files.publish(name, text.encode())
