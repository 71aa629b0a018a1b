"""The command `fleet trust`: a repository's fleet.toml runs or permits only what a person has trusted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.surfaces.cli.options import writing_unkeyed
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Unpack

    from fleet.model.results.projects import TrustChange
    from fleet.surfaces.cli.options import WritingUnkeyed
    from fleet.verbs.projects.trust import Untrusted


@click.command("trust")
@click.option("-y", "--yes", is_flag=True, help="trust without asking, for scripts and CI")
@writing_unkeyed
def trust(*, yes: bool, **given: Unpack[WritingUnkeyed]) -> None:
    """Trust what the project's fleet.toml runs (verify, setup, …) and what it lets agents do (autonomy, engine, …).

    The command shows what has changed since you last trusted the file, and asks. Until you agree, new commands do not run and new
    permissions have no effect. Other settings need no trust.

    \b
    Examples:
      fleet trust
      fleet trust -p web --yes
    """
    with Fleet.open(actor=given["as"]) as fleet:
        project = fleet.project_here(given["project"])
        waiting = fleet.settings.untrusted(project)
        if waiting.changes and not given["json"]:
            _print_untrusted(waiting)
        if waiting.changes and not yes and not _is_confirmed(as_json=given["json"]):
            raise errors.NotTrusted(project=project, settings=", ".join(change.name for change in waiting.changes))
        trusted = fleet.settings.trust(project, waiting.values).replaced(changes=waiting.changes)
    if given["json"]:
        terminal.say_json(trusted)
    elif waiting.changes:
        terminal.say(f"{project}: trusted ({trusted.hash})")
    else:
        terminal.say(f"{project}: everything is trusted")


def offer_trust(fleet: Fleet, project: str, *, as_json: bool = False) -> None:
    """Print the settings that nobody has trusted yet, if there are any, and ask the person to trust them.

    Without a yes, change nothing. With `as_json` or without a terminal, do nothing.
    """
    if as_json or not terminal.is_interactive():
        return
    waiting = fleet.settings.untrusted(project)
    if waiting.changes:
        _print_untrusted(waiting)
        if _is_confirmed(as_json=False):
            fleet.settings.trust(project, waiting.values)


def _is_confirmed(*, as_json: bool) -> bool:
    """Ask the person to trust the settings. With `as_json` or without a terminal, return False without asking."""
    return not as_json and terminal.is_interactive() and click.confirm("Trust this?", default=False)


def _print_untrusted(waiting: Untrusted) -> None:
    """Print the settings that nobody has trusted yet, as a diff."""
    terminal.say(f"{waiting.file} has settings that nobody has trusted yet:")
    for change in waiting.changes:
        for line, colour in _diff_lines(change):
            terminal.say(f"  {terminal.paint(line, colour)}")


def _diff_lines(change: TrustChange) -> Iterator[tuple[str, str]]:
    """Yield the diff lines of one setting, each with its colour.

    Values are escaped, so that the line shows what would run.
    """
    note = "  # a command that fleet runs" if change.runs else ""
    if change.was is not None:
        yield f"- {change.name} = {json.dumps(change.was)}", "red"
    if change.now is not None:
        yield f"+ {change.name} = {json.dumps(change.now)}{note}", "green"


COMMANDS = {"trust": trust}
