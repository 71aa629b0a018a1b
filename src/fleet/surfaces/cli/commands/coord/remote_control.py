"""The commands `fleet rc up`, `down` and `status`: remote control of coordinators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fleet.api.fleet import Fleet
from fleet.surfaces.cli.options import ProjectName, json_option, writing_home
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.model.states import RemoteControl
    from fleet.surfaces.cli.options import WritingHome

_OFF_FOR_ALL = "config.toml of your home turns it off for all projects: remote_control is down"
_PROJECT = click.argument("project", type=ProjectName())


@click.group("rc")
def rc() -> None:
    """Allow or forbid remote control of a project's coordinator.

    \b
    fleet rc up web
    fleet rc status web
    """


def _set_remote_control(project: str, to: RemoteControl, given: WritingHome) -> None:
    """Record whether the project's coordinator may be remote-controlled, and print it."""
    with Fleet.open(actor=given["as"]) as fleet:
        control = fleet.projects.remote_control(project, to, key=given["key"])
    if given["json"]:
        terminal.say_json(control)
        return
    already = "" if control.changed else " (it was already)"
    terminal.say(f"remote control of {project} is {to}{already}; it takes effect at the coordinator's next start")
    if control.off_for_all:
        terminal.say(_OFF_FOR_ALL)


@rc.command("up")
@_PROJECT
@writing_home
def up(project: str, **given: Unpack[WritingHome]) -> None:
    """Allow remote control of the coordinator, if its engine supports it.

    \b
    Examples:
      fleet rc up web
    """
    _set_remote_control(project, "up", given)


@rc.command("down")
@_PROJECT
@writing_home
def down(project: str, **given: Unpack[WritingHome]) -> None:
    """Forbid remote control of the coordinator.

    \b
    Examples:
      fleet rc down web
    """
    _set_remote_control(project, "down", given)


@rc.command("status")
@_PROJECT
@json_option
def status(project: str, *, json: bool) -> None:
    """Show whether remote control is up, down, or not set.

    \b
    Examples:
      fleet rc status web
    """
    with Fleet.open() as fleet:
        control = fleet.projects.remote_control(project)
    if json:
        terminal.say_json(control)
        return
    unset = "not set" if control.off_for_all else "not set; the next coordinator sets it to up"
    terminal.say(f"remote control of {project}: {control.remote_control or unset}")
    if control.off_for_all:
        terminal.say(_OFF_FOR_ALL)


COMMANDS = {"rc": rc}
