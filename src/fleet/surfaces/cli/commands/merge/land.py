"""fleet land."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.surfaces.cli.options import acting
from fleet.surfaces.cli.ui import terminal
from fleet.world.home.location import here

if TYPE_CHECKING:
    from fleet.model.results.merge import Landing


@click.command("land")
@click.option("--dry-run", is_flag=True, help="only show what would land")
@acting
def land(**given: Any) -> int:
    """Move your target branch to the integration branch, by fast-forward.

    A target that is checked out is moved only when you call this in that checkout, nothing is in progress there and nothing of
    yours would be overwritten. Else it is not touched, the command to run is printed, and the exit code is 14.

    \b
    Examples:
      fleet land
      fleet land --dry-run
      fleet land -p web
    """
    with Fleet.open(actor=given["as"]) as fleet:
        landing = fleet.merge.land(project=fleet.project_here(given["project"]), dry=given["dry_run"], here=here())
    if given["json"]:
        terminal.say_json(landing)
    else:
        _show(landing)
    return errors.Refused.code if landing.run else 0


def _show(landing: Landing) -> None:
    target, integration = landing.target, landing.integration
    if not landing.commits:
        terminal.say(f"nothing to land: {target} has all of {integration}")
        return
    for title in landing.titles:
        terminal.say(f"  {title}")
    if landing.diverged:
        terminal.say(f"{target} has commits of its own, so this is a merge; agents start from it afterwards")
    if landing.moved:
        terminal.say(f"{target} is now at {integration} ({landing.commits} commits)")
    elif landing.run:
        terminal.say(f"{landing.why}, so it was not touched; to land, run:")
        terminal.say(f"  {landing.run}")
    else:
        terminal.say(f"{landing.commits} commits of {integration} would land on {target}")


COMMANDS = {"land": land}
