"""fleet land."""

from __future__ import annotations

from typing import Any

import click

from fleet.api.fleet import Fleet
from fleet.errors.families import Refused
from fleet.surfaces.cli.options import acting
from fleet.surfaces.cli.ui import terminal
from fleet.world.home.location import here


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
        done = fleet.merge.land(project=fleet.project_here(given["project"]), dry=given["dry_run"], here=here())
    if given["json"]:
        terminal.say_json(done)
    else:
        _show_landing(done)
    return Refused.code if done["run"] else 0


def _show_landing(done: dict[str, Any]) -> None:
    if not done["commits"]:
        terminal.say(f"nothing to land: {done['target']} has all of {done['integration']}")
        return
    for title in done["titles"]:
        terminal.say(f"  {title}")
    if done["diverged"]:
        terminal.say(f"{done['target']} has commits of its own, so this is a merge; agents start from it afterwards")
    if done["moved"]:
        terminal.say(f"{done['target']} is now at {done['integration']} ({done['commits']} commits)")
    elif done["run"]:
        terminal.say(f"{done['why']}, so it was not touched; to land, run:")
        terminal.say(f"  {done['run']}")
    else:
        terminal.say(f"{done['commits']} commits of {done['integration']} would land on {done['target']}")


COMMANDS = {"land": land}
