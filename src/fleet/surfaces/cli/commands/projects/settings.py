"""fleet config show."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.results.projects import Setting
from fleet.model.text import secrets
from fleet.surfaces.cli.options import reading
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from fleet.model.settings.table import SettingValue

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
def show(project: str | None, *, json: bool) -> None:
    """Every setting, its value, and the file and line that says so.

    \b
    Examples:
      fleet config show
      fleet config show -p web --json
    """
    with Fleet.open() as fleet:
        try:
            project = fleet.project_here(project)
        except errors.NoProject:
            project = None
        settings = [_setting(each) for each in fleet.settings.read(project).values()]
    if json:
        terminal.say_json(settings)
        return
    rows = [(each.name, _shown(each.value), _source(each), each.help) for each in settings]
    for line in terminal.table(("SETTING", "VALUE", "FROM", "WHAT IT IS"), rows):
        terminal.say(line)


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join([*value[:_LISTED], *(["…"] if len(value) > _LISTED else [])]) or "—"
    return "—" if value is None else str(value)


def _source(each: Setting) -> str:
    return each.source if each.trusted else f"{each.source} (not trusted: {dumps(each.written)})"


def _setting(given: SettingValue) -> Setting:
    """A setting as it is shown: the address of a database without its password."""
    value, written, trusted = given.value, given.written, not given.untrusted
    if given.name == "store" and value != "sqlite":
        value = written = secrets.address(value)
    return Setting(name=given.name, value=value, source=given.source, help=given.help, trusted=trusted, written=written)


COMMANDS = {"config": config}
