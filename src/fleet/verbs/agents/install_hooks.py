"""Install hooks in a person's own settings of an engine, for sessions that fleet does not start.

Each installed hook is marked. Only marked hooks are ever removed; everything else in the file stays as it is. A file
that cannot be read as JSON is not changed. Outside an agent's session the hooks start nothing.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from fleet import errors
from fleet.engines import hooks
from fleet.model.results.engines import HooksInstalled, HooksOf
from fleet.verbs.agents.inject_hooks import write_dialect

if TYPE_CHECKING:
    from fleet.engines.reader import Engine
    from fleet.verbs.context import Context

# The JSON of an engine's settings; the engine defines its shape.
Settings = dict[str, Any]


def install(context: Context, engine: Engine) -> HooksInstalled:
    """Write fleet's hooks into the person's own settings of an engine, in place of those of an earlier install.

    Raises Refused when the engine has no settings file for hooks, or when the file cannot be read as its settings.
    """
    path, before = _read_settings(engine)
    write_dialect(context, engine)
    after = _without_fleet_hooks(before)
    groups, table = after.setdefault("hooks", {}), hooks.hooks_of(engine)
    for event in table.events:
        entry = {"type": "command", "command": hooks.installed_command(engine, event, context.world.fleet_program)}
        limit = hooks.limit(table, event)
        later = {"async": True} if event in table.later else {}
        groups.setdefault(event, []).append({"hooks": [{**entry, "timeout": limit, **later}]})
    _write_settings(context, path, before, after)
    return HooksInstalled(engine=engine.name, file=path, installed=True, changed=after != before)


def uninstall(context: Context, engine: Engine) -> HooksInstalled:
    """Remove fleet's marked hooks from the person's own settings of an engine. All else in the file stays.

    Raises Refused as `install` does.
    """
    path, before = _read_settings(engine)
    after = _without_fleet_hooks(before)
    _write_settings(context, path, before, after)
    return HooksInstalled(engine=engine.name, file=path, installed=False, changed=after != before)


def status(context: Context, engine: Engine) -> HooksOf:
    """Return whether hooks are installed in the person's own settings, and whether this fleet program wrote them.

    The engine must have hooks. If they cannot be installed in a file, the result's `file` is None, and both are False.
    Raises Refused when the file cannot be read as the engine's settings.
    """
    table = hooks.hooks_of(engine)
    if not table.install:
        return HooksOf(engine=engine.name, injected=True, file=None, installed=False, current=False)
    path, before = _read_settings(engine)
    mine = [entry["command"] for entry in _hook_entries(before) if _is_fleet_hook(entry)]
    wanted = [hooks.installed_command(engine, event, context.world.fleet_program) for event in table.events]
    current = sorted(mine) == sorted(wanted)
    return HooksOf(engine=engine.name, injected=True, file=path, installed=bool(mine), current=current)


def _read_settings(engine: Engine) -> tuple[str, Settings]:
    """Return the path and content of the person's settings file; the content is {} when there is no file.

    Raises Refused when the engine has no such file, or when the file is not JSON of the expected shape.
    """
    if engine.hooks is None or not engine.hooks.install:
        raise errors.Refused(what=f"engine {engine.name!r} has no settings file that hooks can be installed in")
    path = os.path.realpath(os.path.expanduser(engine.hooks.install))
    try:
        with open(path, encoding="utf-8") as file:
            settings = json.load(file)
    except FileNotFoundError:
        return path, {}
    except (OSError, ValueError) as error:
        raise errors.Refused(what=f"{path} was not changed: it cannot be read as JSON ({error})") from None
    if not isinstance(settings, dict) or not isinstance(settings.get("hooks", {}), dict):
        raise errors.Refused(what=f"{path} was not changed: it does not have the shape that {engine.name} writes")
    return path, settings


def _hook_entries(settings: Settings) -> list[Settings]:
    """Return all hook entries of an engine's settings, over all events and groups."""
    groups = [group for event_groups in settings.get("hooks", {}).values() for group in event_groups]
    return [entry for group in groups for entry in group.get("hooks", [])]


def _without_fleet_hooks(settings: Settings) -> Settings:
    """Return the settings without fleet's marked hooks, and without groups and events that become empty."""
    kept: Settings = {}
    for event, groups in settings.get("hooks", {}).items():
        left = [
            {**group, "hooks": [entry for entry in group.get("hooks", []) if not _is_fleet_hook(entry)]}
            for group in groups
        ]
        filled = [after for after, before in zip(left, groups, strict=True) if after["hooks"] or after == before]
        if filled or not groups:
            kept[event] = filled
    after = {name: value for name, value in settings.items() if name != "hooks"}
    return after | ({"hooks": kept} if kept or settings.get("hooks") == {} else {})


def _is_fleet_hook(entry: Settings) -> bool:
    """Return whether fleet installed this hook entry, by its mark."""
    return hooks.MARK in str(entry.get("command", ""))


def _write_settings(context: Context, path: str, before: Settings, after: Settings) -> None:
    """Write the engine's settings file if its content has changed."""
    if after != before:
        text = json.dumps(after, indent=2, ensure_ascii=False) + "\n"
        context.world.machine.replace_file(path, text)
