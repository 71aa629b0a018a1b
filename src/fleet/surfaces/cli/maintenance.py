"""fleet maintenance."""

from __future__ import annotations

from typing import Any

import click

from fleet.surfaces.cli import terminal
from fleet.surfaces.cli.options import anywhere, opened


@click.group("maintenance")
def maintenance() -> None:
    """Keep the home tidy.

    \b
    fleet maintenance rotate-operations --older-than 90d
    """


@maintenance.command("rotate-operations")
@click.option("--older-than", metavar="AGE", help="move operations older than this (default: config.toml's, or 90d)")
@anywhere
def rotate_operations(**given: Any) -> None:
    """Move old operations out of the database into compressed JSON Lines. Nothing is lost, nobody waits.

    `fleet ops --archived` reads them again.

    \b
    Examples:
      fleet maintenance rotate-operations
      fleet maintenance rotate-operations --older-than 30d
    """
    with opened(given["as"]) as fleet:
        done = fleet.rotate_operations(older_than=given["older_than"])
    if given["json"]:
        terminal.say_json(done)
    else:
        terminal.say(f"{done['moved']} operation(s) moved into {len(done['files'])} new file(s)")


COMMANDS = {"maintenance": maintenance}
