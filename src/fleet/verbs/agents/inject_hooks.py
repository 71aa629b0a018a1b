"""Inject: give an engine the hooks that tell fleet what its agent does.

The files are made from the engine's own, the freedom and the program's path alone; they lie in the home, are the same for every
agent of a kind, and are written again only when they would differ. Nothing goes into a worktree or the person's own settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.engines import hooks
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.engines.reader import Engine
    from fleet.verbs.context import Context


def inject(context: Context, engine: Engine, autonomy: str | None) -> tuple[tuple[str, ...], dict[str, str]]:
    """The words and the variables that give the engine its hooks; none for an engine without."""
    if engine.hooks is None or (engine.hooks.at and autonomy not in engine.hooks.at):
        return (), {}
    write_dialect(context, engine)
    path = _write_if_changed(
        context,
        paths.hook_settings(engine.name, autonomy),
        hooks.settings(engine, autonomy, context.world.fleet_program),
    )
    each = hooks.words_of_events(engine, context.world.fleet_program)
    words = (*(word.replace("{settings}", path) for word in engine.hooks.words), *each)
    env = {name: value.replace("{settings}", path) for name, value in engine.hooks.env.items()}
    return words, {**env, "FLEET_HOOKS": engine.name}


def write_dialect(context: Context, engine: Engine) -> None:
    """Write down what `fleet hook` has to know of the engine."""
    _write_if_changed(context, paths.hook_dialect(engine.name), hooks.dialect(engine))


def _write_if_changed(context: Context, name: str, text: str) -> str:
    files = context.world.files
    try:
        if files.read(name) == text.encode():
            return f"{files.root}/{name}"
    except OSError:
        pass
    return files.publish(name, text.encode())
