"""fleet trust: what a repository's fleet.toml runs or frees counts after a person has looked at it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.surfaces.cli.options import acting
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Unpack

    from fleet.model.results.projects import TrustChange
    from fleet.surfaces.cli.options import Acting
    from fleet.verbs.projects.trust import Untrusted


@click.command("trust")
@click.option("-y", "--yes", is_flag=True, help="trust it without asking; for scripts and CI")
@acting
def trust(*, yes: bool, **given: Unpack[Acting]) -> None:
    """Trust what the project's fleet.toml runs (verify, setup, …) and what it lets agents do (autonomy, engine, …).

    It shows what has changed since it was trusted last, and asks. Until then a new command does not run and a new freedom does
    not count. Other settings need no trust.

    \b
    Examples:
      fleet trust
      fleet trust -p web --yes
    """
    with Fleet.open(actor=given["as"]) as fleet:
        project = fleet.project_here(given["project"])
        waiting = fleet.settings.untrusted(project)
        if waiting.changes and not given["json"]:
            _show(waiting)
        if waiting.changes and not yes and not _is_confirmed(as_json=given["json"]):
            raise errors.NotTrusted(project=project, settings=", ".join(each.name for each in waiting.changes))
        trusted = fleet.settings.trust(project, waiting.values).replaced(changes=waiting.changes)
    if given["json"]:
        terminal.say_json(trusted)
    elif waiting.changes:
        terminal.say(f"{project}: trusted ({trusted.hash})")
    else:
        terminal.say(f"{project}: nothing waits to be trusted")


def offer_trust(fleet: Fleet, project: str, *, as_json: bool = False) -> None:
    """On a terminal, show what waits for a person's trust and ask. A no changes nothing: whatever needs it is refused."""
    if as_json or not _is_person():
        return
    waiting = fleet.settings.untrusted(project)
    if waiting.changes:
        _show(waiting)
        if _is_confirmed(as_json=False):
            fleet.settings.trust(project, waiting.values)


def _is_person() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _is_confirmed(*, as_json: bool) -> bool:
    return not as_json and _is_person() and click.confirm("Trust this?", default=False)


def _show(waiting: Untrusted) -> None:
    terminal.say(f"{waiting.file} says what nobody has trusted yet:")
    for each in waiting.changes:
        for line, colour in _lines(each):
            terminal.say(f"  {terminal.paint(line, colour)}")


def _lines(change: TrustChange) -> Iterator[tuple[str, str]]:
    """A diff of one setting. Values are escaped: what is shown is what would be run."""
    note = "  # a command that fleet runs" if change.runs else ""
    if change.was is not None:
        yield f"- {change.name} = {json.dumps(change.was)}", "red"
    if change.now is not None:
        yield f"+ {change.name} = {json.dumps(change.now)}{note}", "green"


COMMANDS = {"trust": trust}
