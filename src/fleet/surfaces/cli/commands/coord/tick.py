"""The commands `fleet coord tick`, `run` and `watch`, which coordinators and fleet itself call."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.api.loop import Loop
from fleet.api.watch import Watch
from fleet.model.text.times import iso
from fleet.surfaces.cli.options import writing_unkeyed
from fleet.surfaces.cli.ui import terminal
from fleet.world.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from fleet.model.results.coord import Ticked
    from fleet.surfaces.cli.options import WritingUnkeyed


@click.command("tick")
@click.option(
    "--ack", "acknowledged", multiple=True, metavar="ID", help="the id of a message that you have read and followed"
)
@writing_unkeyed
def tick(acknowledged: tuple[str, ...], **given: Unpack[WritingUnkeyed]) -> None:
    """Do the coordinator's work once: settle, hand off, merge, start agents; then print what is next. For agents that coordinate.

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
    """Print what a tick did, what is next, and the messages to the coordinator."""
    for line in ticked.done:
        terminal.say(f"- {line}")
    for line in ticked.troubles:
        terminal.say(f"- trouble: {line}")
    briefing = ticked.next
    for name, items in (
        ("working", ", ".join(f"{attempt.task} ({attempt.kind} {attempt.id})" for attempt in briefing.working)),
        ("ready", ", ".join(briefing.ready)),
        ("to review", ", ".join(briefing.to_review)),
        ("to merge", ", ".join(briefing.to_merge)),
        ("trouble", "; ".join(f"{task.task} is {task.status}: {task.reason}" for task in briefing.trouble)),
    ):
        if items:
            terminal.say(f"{name}: {items}")
    for message in ticked.messages:
        terminal.say(f"message {message.id} (run `fleet coord tick --ack {message.id}` when done):")
        terminal.say_text(message.text, indent="  ")


@click.command("run")
@click.option("-p", "--project", metavar="PROJECT", help="the project (default: FLEET_PROJECT)")
def run(project: str | None) -> None:
    """Run fleet's own coordinator: tick at changes and at intervals, without a model. `fleet coord start` starts it in a session.

    \b
    Examples:
      fleet coord run
    """
    with Fleet.open() as fleet:
        name = fleet.project_here(project)
        if fleet.speaker is None:
            raise errors.BadInput(
                what=f"this command runs inside a coordinator's session; `fleet coord start -p {name}` starts one"
            )
    say = _line_printer()
    say(f"coordinating {name}")
    Loop(name, say).run()


@click.command("watch")
@click.option("-p", "--project", metavar="PROJECT", help="the project (default: the one of the current directory)")
def watch(project: str | None) -> None:
    """Wake an agent that coordinates when there is something to do; ends with it. Fleet starts this process itself.

    \b
    Examples:
      fleet coord watch -p web
    """
    with Fleet.open() as fleet:
        name = fleet.project_here(project)
        fleet.projects.show(name)
    Watch(name, _line_printer()).run()


def _line_printer() -> Callable[[str], None]:
    """Return a function that prints a line after the current time, at once."""
    clock = Clock()

    def say(line: str) -> None:
        terminal.say(f"[fleet] {iso(clock.now())} {line}")
        sys.stdout.flush()

    return say
