"""fleet coord tick, run: what a coordinator's own session calls."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.api.loop import Loop
from fleet.model.text.times import iso
from fleet.surfaces.cli.options import acting
from fleet.surfaces.cli.ui import terminal
from fleet.world.clock import Clock

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.model.results.coord import Ticked
    from fleet.surfaces.cli.options import Acting


@click.command("tick")
@click.option("--ack", "acknowledged", multiple=True, metavar="ID", help="a message that was read and applied")
@acting
def tick(acknowledged: tuple[str, ...], **given: Unpack[Acting]) -> None:
    """Do a coordinator's work once: settle, hand over, move on, start. For an agent that coordinates; it says what matters next.

    \b
    Examples:
      fleet coord tick
      fleet coord tick --ack 3f2a9c01 --json
    """
    with Fleet.open() as fleet:
        if acknowledged:
            fleet.messages.acknowledge(list(acknowledged))
        ticked = fleet.coord.tick(fleet.project_here(given["project"]))
    if given["json"]:
        terminal.say_json(ticked)
    else:
        _say_ticked(ticked)


def _say_ticked(ticked: Ticked) -> None:
    for line in ticked.done:
        terminal.say(f"- {line}")
    for line in ticked.troubles:
        terminal.say(f"- trouble: {line}")
    briefing = ticked.next
    for name, items in (
        ("working", ", ".join(f"{each.task} ({each.kind} {each.id})" for each in briefing.working)),
        ("ready", ", ".join(briefing.ready)),
        ("to review", ", ".join(briefing.to_review)),
        ("to merge", ", ".join(briefing.to_merge)),
        ("trouble", "; ".join(f"{each.task} is {each.status}: {each.reason}" for each in briefing.trouble)),
    ):
        if items:
            terminal.say(f"{name}: {items}")
    for message in ticked.messages:
        terminal.say(f"message {message.id} (say `fleet coord tick --ack {message.id}` when done):")
        terminal.say_text(message.text, indent="  ")


@click.command("run")
@click.option("-p", "--project", metavar="PROJECT", help="the project (default: FLEET_PROJECT)")
def run(project: str | None) -> None:
    """Fleet's own coordinator: ticks on change and on time, without a model. `fleet coord start` starts it in a session of its own.

    \b
    Examples:
      fleet coord run
    """
    with Fleet.open() as fleet:
        name = fleet.project_here(project)
        if fleet.speaker is None:
            raise errors.BadInput(
                what=f"this runs inside a coordinator's session; `fleet coord start -p {name}` starts one"
            )
    clock = Clock()

    def say(line: str) -> None:
        terminal.say(f"[fleet] {iso(clock.now())} {line}")
        sys.stdout.flush()

    say(f"coordinating {name}")
    Loop(name, say).run()
