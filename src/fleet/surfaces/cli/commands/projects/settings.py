"""The command `fleet config show`."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.results.projects import Setting
from fleet.model.settings.table import SECRETS
from fleet.model.text import secrets
from fleet.surfaces.cli.options import reading
from fleet.surfaces.cli.ui import terminal
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.agents.allow import Allowed
    from fleet.model.settings.table import SettingValue

# How many values of a list are printed.
_LISTED = 3


@click.group("config")
def config() -> None:
    """Show the settings and where they come from.

    Your own settings are in config.toml in the fleet home, those of a project in fleet.toml in its repository.

    \b
    fleet config show
    """


@config.command("show")
@click.option("--share", is_flag=True, help="print the allowed commands as a line for fleet.toml, for everybody")
@reading
def show(project: str | None, *, share: bool, json: bool) -> None:
    """List every setting with its value, and the file and line that sets it; then what you have allowed permanently.

    \b
    Examples:
      fleet config show
      fleet config show -p web --json
      fleet config show --share
    """
    with Fleet.open() as fleet:
        try:
            project = fleet.project_here(project)
        except errors.NoProject:
            project = None
        if share:
            _print_shared(fleet.settings.allowed(fleet.project_here(project)))
            return
        settings = [_setting_view(each) for each in fleet.settings.read(project).values()]
        if project is not None:
            settings += _approved_views(fleet, project)
    if json:
        terminal.say_json(settings)
        return
    rows = [(setting.name, _value_text(setting.value), _source_text(setting), setting.help) for setting in settings]
    for line in terminal.table(("SETTING", "VALUE", "FROM", "WHAT IT IS"), rows):
        terminal.say(line)
    for each in settings:
        terminal.say_lines(terminal.paint(line, "red") for line in each.wrong.splitlines())


def _approved_views(fleet: Fleet, project: str) -> list[Setting]:
    """Return the commands that a person has permanently allowed in a project, as at most two lines beside the settings.

    One line has the commands allowed with any further words, the other those allowed exactly; an empty one is left out.
    """
    approved, source = fleet.settings.approved(project), f"{fleet.home}/{paths.allowed(project)}"
    rows = (
        ("allow (approved)", approved.prefixes, "what you let agents run, with whatever stands behind it"),
        ("allow (exactly)", approved.exact, "what you let agents run, exactly so"),
    )
    return [
        Setting(name=name, value=list(value), source=source, help=text, trusted=True, written=list(value))
        for name, value, text in rows
        if value
    ]


def _print_shared(allowed: Allowed) -> None:
    """Print the allowed prefixes of commands as TOML for fleet.toml.

    Commands that are allowed only exactly as written, with nothing after them, are printed as comments.
    """
    terminal.say(f"allow = {dumps(list(allowed.prefixes))}")
    for command in allowed.exact:
        terminal.say(f"# allowed only exactly so, by you: {command}")


def _value_text(value: object) -> str:
    """Return a setting's value as text; a long list is shortened."""
    if isinstance(value, list):
        return ", ".join([*value[:_LISTED], *(["…"] if len(value) > _LISTED else [])]) or "—"
    return "—" if value is None else str(value)


def _source_text(each: Setting) -> str:
    """Return where a setting's value comes from, and the written value if nobody has trusted it."""
    return each.source if each.trusted else f"{each.source} (not trusted: {dumps(each.written)})"


def _setting_view(given: SettingValue) -> Setting:
    """Return a setting for display: a database URL without its password, secret addresses with only their scheme."""
    value, written, trusted = given.value, given.written, not given.untrusted
    if given.name in SECRETS:
        value = written = [secrets.masked(each) for each in value]
    if given.name == "store" and value != "sqlite":
        value = written = secrets.address(value)
    return Setting(
        name=given.name,
        value=value,
        source=given.source,
        help=given.help,
        trusted=trusted,
        written=written,
        wrong=given.wrong,
    )


COMMANDS = {"config": config}
