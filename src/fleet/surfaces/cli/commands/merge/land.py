"""The command `fleet land`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.text.sizes import counted
from fleet.surfaces.cli.options import writing_unkeyed
from fleet.surfaces.cli.ui import terminal
from fleet.world.home.location import directory_of_asker

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.model.results.merge import Landing
    from fleet.surfaces.cli.options import WritingUnkeyed

    class LandGiven(WritingUnkeyed):
        """The options of `fleet land`."""

        dry_run: bool


@click.command("land")
@click.option("--dry-run", is_flag=True, help="only print what would land")
@writing_unkeyed
def land(**given: Unpack[LandGiven]) -> int:
    """Fast-forward your target branch to the integration branch.

    A target branch that is checked out is moved only when you call this in that checkout, no git operation is in progress there and
    none of your changes would be overwritten. Otherwise it is not touched, the command to run is printed, and the exit code is 14.

    \b
    Examples:
      fleet land
      fleet land --dry-run
      fleet land -p web
    """
    with Fleet.open(actor=given["as"]) as fleet:
        landing = fleet.merge.land(
            project=fleet.project_here(given["project"]), dry=given["dry_run"], here=directory_of_asker()
        )
    if given["json"]:
        terminal.say_json(landing)
    else:
        _print_landing(landing)
    return errors.Refused.code if landing.run else 0


def _print_landing(landing: Landing) -> None:
    """Print which commits landed or would land, or the git command that the person has to run."""
    target, integration, commits = landing.target, landing.integration, counted(landing.commits, "commit")
    if not landing.commits:
        terminal.say(f"nothing to land: {target} has all of {integration}")
        return
    for title in landing.titles:
        terminal.say(f"  {title}")
    if landing.diverged:
        terminal.say(f"{target} has commits of its own, so this is a merge; agents start from it afterwards")
    if landing.moved:
        terminal.say(f"{target} is now at {integration} ({commits})")
    elif landing.run:
        terminal.say(f"{landing.why}, so it was not touched; to land, run:")
        terminal.say(f"  {landing.run}")
    else:
        terminal.say(f"{commits} of {integration} would land on {target}")


COMMANDS = {"land": land}
