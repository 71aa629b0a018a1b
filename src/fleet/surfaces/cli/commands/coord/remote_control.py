"""fleet rc up, down, status."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fleet.api.fleet import Fleet
from fleet.surfaces.cli.options import ProjectName, anywhere, json_option
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.model.states import RemoteControl
    from fleet.surfaces.cli.options import Anywhere

_PROJECT = click.argument("project", type=ProjectName())


@click.group("rc")
def rc() -> None:
    """Whether a project's coordinator may be controlled from afar.

    \b
    fleet rc up web
    fleet rc status web
    """


def _set(project: str, to: RemoteControl, given: Anywhere) -> None:
    with Fleet.open(actor=given["as"]) as fleet:
        control = fleet.projects.remote_control(project, to, key=given["key"])
    if given["json"]:
        terminal.say_json(control)
        return
    already = "" if control.changed else " (it was already)"
    terminal.say(f"remote control of {project} is {to}{already}; it holds from the coordinator's next start")


@rc.command("up")
@_PROJECT
@anywhere
def up(project: str, **given: Unpack[Anywhere]) -> None:
    """Let the coordinator be controlled from afar, if its engine can.

    \b
    Examples:
      fleet rc up web
    """
    _set(project, "up", given)


@rc.command("down")
@_PROJECT
@anywhere
def down(project: str, **given: Unpack[Anywhere]) -> None:
    """Do not let the coordinator be controlled from afar.

    \b
    Examples:
      fleet rc down web
    """
    _set(project, "down", given)


@rc.command("status")
@_PROJECT
@json_option
def status(project: str, *, json: bool) -> None:
    """What was said: up, down, or nothing yet.

    \b
    Examples:
      fleet rc status web
    """
    with Fleet.open() as fleet:
        control = fleet.projects.remote_control(project)
    state = control.remote_control or "not said; the next coordinator says up"
    terminal.say_json(control) if json else terminal.say(f"remote control of {project}: {state}")


COMMANDS = {"rc": rc}
