"""fleet home."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fleet.api.fleet import Fleet
from fleet.api.homes.homes import new_database
from fleet.surfaces.cli.options import json_option, unkeyed
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.model.results.home import Repair
    from fleet.surfaces.cli.options import Unkeyed


@click.group("home")
def home() -> None:
    """The fleet home: where it is, and what to do when it was moved or its database is gone.

    \b
    fleet home show
    fleet home repair
    """


@home.command("show")
@json_option
def show(*, json: bool) -> None:
    """What the home remembers of itself: its id, its host, its machine, its path, and which database it has.

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
        terminal.say(f"  it is at {home.here} now: `fleet home repair` shows what is to be done")
    for other in home.others:
        terminal.say(f"  shares its database with home {other.path} on {other.name} (host {other.host})")


@home.command("repair")
@click.option("--yes", is_flag=True, help="do it without asking")
@unkeyed
def repair_(*, yes: bool, **given: Unpack[Unkeyed]) -> None:
    """Repair a home that was moved: tell git where its worktrees are, and the database where everything is.

    Nothing is repaired while an agent or command of the old place may live. Killed half-way, it can be run again.

    \b
    Examples:
      fleet home repair
      fleet home repair --yes
    """
    with Fleet.open(actor=given["as"]) as fleet:
        repair = fleet.homes.plan_repair()
        if yes or (not given["json"] and _is_wanted(repair)):
            repair = fleet.homes.repair()
    if given["json"]:
        terminal.say_json(repair)
    elif repair.repaired:
        left = f"; left: {'; '.join(repair.left)}" if repair.left else ""
        terminal.say(f"the home is at {repair.path} now{left}")


def _is_wanted(repair: Repair) -> bool:
    """Show what would be done, and ask on a terminal."""
    terminal.say(f"The home was moved from {repair.was} to {repair.path}. A repair would")
    for path in repair.worktrees:
        terminal.say(f"  tell git that a worktree is at {path} (git worktree repair)")
    terminal.say(f"  write the new place into {terminal.counted(len(repair.claims), 'claim')} and the home's record")
    for line in repair.left:
        terminal.say(f"  leave alone {line}")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        terminal.say("nothing was done: `fleet home repair --yes` does it")
        return False
    return click.confirm("Do it?")


@home.command("new-database")
@click.option("-r", "--reason", required=True, metavar="TEXT", help="why, for the record")
@unkeyed
def new(reason: str, **given: Unpack[Unkeyed]) -> None:
    """Begin with an empty database in a home whose own is gone. What is left of the old one is listed by `fleet clean`, not touched.

    \b
    Examples:
      fleet home new-database --reason "the disk is lost, and there is no backup"
    """
    made = new_database(reason, actor=given["as"])
    terminal.say_json(made) if given["json"] else terminal.say(f"{made.home} has a new, empty database")


COMMANDS = {"home": home}
