"""fleet engine."""

from __future__ import annotations

import os
import shutil
from typing import Any

import click

from fleet.api.fleet import Fleet
from fleet.engines import readiness
from fleet.errors import FleetError
from fleet.surfaces.cli import terminal
from fleet.surfaces.cli.options import json_option


@click.group("engine")
def engine() -> None:
    """The programs that agents run on.

    \b
    fleet engine list
    fleet engine show claude
    """


@engine.command("list")
@json_option
def list_(**given: Any) -> None:
    """List the engines, and whether their program is installed.

    Your own are TOML files in $FLEET_HOME/engines; one of the same name as a built-in one wins.

    \b
    Examples:
      fleet engine list
    """
    with Fleet.open() as fleet:
        found = [_row(each) for each in fleet.engines().values()]
    if given["json"]:
        terminal.say_json(found)
        return
    rows = [(e["name"], "yes" if e["installed"] else "no", e["summary"], e["source"]) for e in found]
    for line in terminal.table(("ENGINE", "INSTALLED", "WHAT", "FILE"), rows):
        terminal.say(line)


def _row(each: Any) -> dict[str, Any]:
    installed = each.program in {"", "{python}"} or shutil.which(each.program) is not None
    keep = {"name": each.name, "summary": each.summary, "program": each.program, "source": each.source}
    return keep | {"installed": installed, "autonomy": sorted(each.autonomy), "interactive": each.interactive}


@engine.command("show")
@click.argument("name")
@json_option
def show(name: str, **given: Any) -> None:
    """The file that describes an engine.

    \b
    Examples:
      fleet engine show claude
      fleet engine show claude > $FLEET_HOME/engines/mine.toml
    """
    with Fleet.open() as fleet:
        found = fleet.engine(name)
    if given["json"]:
        terminal.say_json(_row(found))
        return
    with open(found.source, encoding="utf-8") as file:
        terminal.say(file.read().rstrip())


@engine.command("check")
@click.argument("name")
@click.option("--autonomy", type=click.Choice(["ask", "edits", "allowlist", "full"]), help="with this freedom")
@json_option
def check(name: str, autonomy: str | None, **given: Any) -> int:
    """Whether an engine could be started here: its program, its freedom, its dialogs.

    \b
    Examples:
      fleet engine check claude --autonomy edits
    """
    with Fleet.open() as fleet:
        found = fleet.engine(name)
    try:
        program = readiness.program_of(found, ("true",))
        readiness.check(found, autonomy=autonomy, repository=os.path.realpath(os.getcwd()))
    except FleetError as error:
        if given["json"]:
            terminal.say_json({"engine": name, "ok": False, "why": str(error), "advice": error.next_step})
            return error.code
        raise
    terminal.say_json({"engine": name, "ok": True, "program": program}) if given["json"] else terminal.say(
        f"{name}: {program}"
    )
    return 0


COMMANDS = {"engine": engine}
