"""The command `fleet down`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.api.remote import lifecycle
from fleet.model.text.sizes import counted
from fleet.surfaces.cli.options import writing_unkeyed
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.waiting import waiting

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.model.results.projects import Down
    from fleet.surfaces.cli.options import WritingUnkeyed


@click.command("down")
@writing_unkeyed
def down(**given: Unpack[WritingUnkeyed]) -> int:
    """Stop the project's coordinator and all its agents, and keep their work.

    Worktrees, branches and conversations stay; `fleet up` starts the coordinator again, `fleet resume --all` continues the agents. When
    something still runs, the command says what, and the exit code is 14.

    \b
    Examples:
      fleet down
      fleet down -p web
    """
    with Fleet.open(actor=given.get("as")) as fleet:
        name = fleet.project_here(given.get("project"))
        with waiting(f"the agents of {name} are asked to exit"):
            ended = fleet.projects.down(name)
            ended = ended.replaced(daemon=lifecycle.stop_if_unneeded(fleet))
    if given.get("json"):
        terminal.say_json(ended)
    else:
        print_down(ended)
    return errors.Refused.code if ended.left else 0


def print_down(ended: Down) -> None:
    """Print which agents were stopped, what still runs, and how to go on."""
    if ended.coordinator:
        terminal.say(f"coordinator {ended.coordinator} is ended")
    if ended.stopped:
        who = counted(len(ended.stopped), "agent")
        terminal.say(f"{who} stopped: {', '.join(ended.stopped)}; `fleet resume --all -p {ended.project}` continues")
    for line in ended.left:
        terminal.say(terminal.paint(f"left: {line}", "yellow"))
    if ended.daemon is not None:
        terminal.say("the daemon is ended" if ended.daemon else "the daemon goes on: others in this home need it")
    if not (ended.coordinator or ended.stopped or ended.left):
        terminal.say(f"nothing of {ended.project} runs")


COMMANDS = {"down": down}
