"""fleet config show."""

from __future__ import annotations

import json
from typing import Any

import click

from fleet.api.fleet import Fleet
from fleet.errors.given import NoProject
from fleet.model.settings.table import SettingValue
from fleet.model.text import secrets
from fleet.surfaces.cli.options import reading
from fleet.surfaces.cli.ui import terminal

_LISTED = 3


@click.group("config")
def config() -> None:
    """Settings and where they come from.

    The operator's are in config.toml in the fleet home, a project's in fleet.toml in its repository.

    \b
    fleet config show
    """


@config.command("show")
@reading
def show(**given: Any) -> None:
    """Every setting, its value, and the file and line that says so.

    \b
    Examples:
      fleet config show
      fleet config show -p web --json
    """
    with Fleet.open() as fleet:
        try:
            project = fleet.project_here(given["project"])
        except NoProject:
            project = None
        found = [_without_password(each) for each in fleet.settings.read(project).values()]
    if given["json"]:
        terminal.say_json([value.as_document() for value in found])
        return
    rows = [(each.name, _shown(each.value), _source(each), each.help) for each in found]
    for line in terminal.table(("SETTING", "VALUE", "FROM", "WHAT IT IS"), rows):
        terminal.say(line)


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join([*value[:_LISTED], *(["…"] if len(value) > _LISTED else [])]) or "—"
    return "—" if value is None else str(value)


def _source(each: SettingValue) -> str:
    return f"{each.source} (not trusted: {json.dumps(each.written)})" if each.untrusted else each.source


def _without_password(value: SettingValue) -> SettingValue:
    if value.name != "store" or value.value == "sqlite":
        return value
    return SettingValue(name=value.name, value=secrets.address(value.value), source=value.source, help=value.help)


COMMANDS = {"config": config}
