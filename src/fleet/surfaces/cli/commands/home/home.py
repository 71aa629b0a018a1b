"""The commands `fleet home show`, `repair` and `new-database`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fleet.api.fleet import Fleet
from fleet.api.homes.homes import new_database
from fleet.model.text.sizes import counted
from fleet.surfaces.cli.options import json_option, writing_home_unkeyed
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.model.results.home import Repair
    from fleet.surfaces.cli.options import WritingHomeUnkeyed


@click.group("home")
def home() -> None:
    """Show the fleet home; repair it when it was moved or its database is gone.

    \b
    fleet home show
    fleet home repair
    """


@home.command("show")
@json_option
def show(*, json: bool) -> None:
    """Show the home's record: its id, host, machine, path and database.

    \b
    Examples:
      fleet home show
      fleet home show --json
    """
    with Fleet.open() as fleet:
        home = fleet.homes.show()
    if json:
        terminal.say_json(home)
        return
    for name in ("id", "host", "machine", "path", "database"):
        terminal.say(f"  {name:<9} {getattr(home, name)}")
    if home.machine_now != home.machine:
        terminal.say(f"  this machine is {home.machine_now}")
    if home.moved:
        terminal.say(f"  it is at {home.here} now: `fleet home repair` shows what to do")
    for other in home.others:
        terminal.say(f"  shares its database with home {other.path} on {other.name} (host {other.host})")


@home.command("repair")
@click.option("--yes", is_flag=True, help="repair without asking")
@writing_home_unkeyed
def repair_(*, yes: bool, **given: Unpack[WritingHomeUnkeyed]) -> None:
    """Repair a home that was moved: write the new paths into git's worktree records and into the database.

    Refused while an agent or command of the old path may be alive. If it is interrupted, run it again.

    \b
    Examples:
      fleet home repair
      fleet home repair --yes
    """
    with Fleet.open(actor=given["as"]) as fleet:
        repair = fleet.homes.plan_repair()
        if yes or (not given["json"] and _is_confirmed(repair)):
            repair = fleet.homes.repair()
    if given["json"]:
        terminal.say_json(repair)
    elif repair.repaired:
        left = f"; left: {'; '.join(repair.left)}" if repair.left else ""
        terminal.say(f"the home is at {repair.path} now{left}")


def _is_confirmed(repair: Repair) -> bool:
    """Print what the repair of a moved home would do, and ask the person. Returns False without a terminal."""
    terminal.say(f"The home was moved from {repair.was} to {repair.path}. A repair would")
    for path in repair.worktrees:
        terminal.say(f"  tell git that a worktree is at {path} (git worktree repair)")
    terminal.say(f"  write the new place into {counted(len(repair.claims), 'claim')} and the home's record")
    for line in repair.left:
        terminal.say(f"  leave alone {line}")
    if not terminal.is_interactive():
        terminal.say("nothing was done: `fleet home repair --yes` does it")
        return False
    return click.confirm("Do it?")


@home.command("new-database")
@click.option("-r", "--reason", required=True, metavar="TEXT", help="the reason, for the record")
@writing_home_unkeyed
def make_database(reason: str, **given: Unpack[WritingHomeUnkeyed]) -> None:
    """Start with an empty database in a home whose database is gone. `fleet clean` lists what the old one left behind.

    \b
    Examples:
      fleet home new-database --reason "the disk is lost, and there is no backup"
    """
    made = new_database(reason, actor=given["as"])
    terminal.say_json(made) if given["json"] else terminal.say(f"{made.home} has a new, empty database")


COMMANDS = {"home": home}
