"""fleet task why. It looks at processes too, so it loads more than the other listings."""

from __future__ import annotations

from typing import Any

import click

from fleet.api.fleet import Fleet
from fleet.surfaces.cli.options import reading, slug_argument
from fleet.surfaces.cli.ui import terminal
from fleet.verbs.tasks.explain import MOST

_DEEPEST = 30


@click.command("why")
@slug_argument
@reading
def why(slug: str, **given: Any) -> None:
    """Why a task is not being worked on: a sentence a blocker, to the root of the chain.

    \b
    Examples:
      fleet task why write-the-tests
    """
    with Fleet.open() as fleet:
        found = fleet.why(project=fleet.project_here(given["project"]), slug=slug)
    if given["json"]:
        terminal.say_json(found)
        return
    terminal.say(found["sentences"][0])
    for each in found["chain"]:
        terminal.say(f"{'  ' * (min(each['depth'], _DEEPEST) + 1)}{each['sentence']}")
    if len(found["chain"]) == MOST:
        terminal.say(f"… only the nearest {MOST} are shown: `fleet task why {found['chain'][-1]['needs']}` goes on")


COMMANDS = {"task why": why}
