"""The commands `fleet daemon install` and `uninstall`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fleet.api.fleet import Fleet
from fleet.surfaces.cli.options import writing_home_unkeyed
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.model.results.home import DaemonUnit
    from fleet.surfaces.cli.options import WritingHomeUnkeyed


@click.command("install")
@click.option("--no-start", "later", is_flag=True, help="do not start it now, only from the next log-in or boot on")
@writing_home_unkeyed
def install(*, later: bool, **given: Unpack[WritingHomeUnkeyed]) -> None:
    """Let the system start the daemon of this home, now and after every boot, and again when it dies.

    Writes a systemd user unit, or a launchd agent on macOS, and enables it. Stopping or restarting it ends no agent.

    \b
    Examples:
      fleet daemon install
      fleet daemon install --no-start
    """
    with Fleet.open(actor=given.get("as")) as fleet:
        unit = fleet.homes.install_daemon(start=not later)
    if given.get("json"):
        terminal.say_json(unit)
        return
    terminal.say(f"{unit.system} starts the daemon of {unit.home}: {unit.path}")
    _print_notes(unit)


@click.command("uninstall")
@writing_home_unkeyed
def uninstall(**given: Unpack[WritingHomeUnkeyed]) -> None:
    """Stop the daemon that the system started for this home, and remove its unit. Agents go on.

    \b
    Examples:
      fleet daemon uninstall
    """
    with Fleet.open(actor=given.get("as")) as fleet:
        unit = fleet.homes.uninstall_daemon()
    if given.get("json"):
        terminal.say_json(unit)
    elif unit.is_changed:
        terminal.say(f"{unit.system} no longer starts the daemon of {unit.home}; {unit.path} is removed")
        _print_notes(unit)
    else:
        terminal.say(f"there is no unit of the daemon of {unit.home}: nothing was done")


def _print_notes(unit: DaemonUnit) -> None:
    for note in unit.notes:
        terminal.say(f"  {note}")


# The group `fleet daemon` adds them.
COMMANDS = {"install": install, "uninstall": uninstall}
