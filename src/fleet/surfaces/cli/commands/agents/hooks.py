"""fleet hooks, limits, and the words that engines call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fleet.api.fleet import Fleet
from fleet.surfaces.cli.options import json_option, unkeyed
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.model.results.engines import HooksInstalled, HooksOf
    from fleet.surfaces.cli.options import Unkeyed

_ENGINE = click.option("--engine", metavar="NAME", default="claude", show_default=True, help="whose settings")


@click.group("hooks")
def hooks() -> None:
    """Hooks, through which engines tell what their agents do.

    Agents that fleet starts have them anyway. In your own settings they serve sessions that you start yourself with
    FLEET_DISPATCH_ID set; in all others they do nothing.

    \b
    fleet hooks status
    fleet hooks install --engine claude
    """


@hooks.command("install")
@_ENGINE
@unkeyed
def install(engine: str, **given: Unpack[Unkeyed]) -> None:
    """Write fleet's hooks into your own settings of an engine, marked; what is there stays.

    \b
    Examples:
      fleet hooks install
      fleet hooks install --engine claude --json
    """
    with Fleet.open(actor=given["as"]) as fleet:
        hooks = fleet.engines.install_hooks(engine)
    _show_installed(hooks, "installed in", as_json=given["json"])


@hooks.command("uninstall")
@_ENGINE
@unkeyed
def uninstall(engine: str, **given: Unpack[Unkeyed]) -> None:
    """Take fleet's hooks out of your own settings again, and nothing else.

    \b
    Examples:
      fleet hooks uninstall
    """
    with Fleet.open(actor=given["as"]) as fleet:
        hooks = fleet.engines.uninstall_hooks(engine)
    _show_installed(hooks, "not in", as_json=given["json"])


def _show_installed(hooks: HooksInstalled, how: str, *, as_json: bool) -> None:
    if as_json:
        terminal.say_json(hooks)
        return
    terminal.say(f"the hooks of {hooks.engine} are {how} {hooks.file}{'' if hooks.changed else ' (as before)'}")


@hooks.command("status")
@json_option
def status(*, json: bool) -> None:
    """Which engines have hooks, and whether they are in your own settings.

    \b
    Examples:
      fleet hooks status
      fleet hooks status --json
    """
    with Fleet.open() as fleet:
        every = fleet.engines.hooks()
    if json:
        terminal.say_json(every)
        return
    rows = [(each.engine, "given to each agent", _installed(each)) for each in every]
    for line in terminal.table(("ENGINE", "BY FLEET", "YOUR OWN SETTINGS"), rows):
        terminal.say(line)


def _installed(hooks: HooksOf) -> str:
    if hooks.file is None:
        return "not supported"
    if not hooks.installed:
        return "not installed"
    return f"in {hooks.file}" if hooks.current else f"in {hooks.file}, of another fleet: install again"


@click.group("limits")
def limits() -> None:
    """Engines that are held back by a limit or a login.

    \b
    fleet limits list
    fleet limits lift claude
    """


@limits.command("list")
@json_option
def list_limits(*, json: bool) -> None:
    """Engines that are held back, and how much of their windows is used.

    \b
    Examples:
      fleet limits list
      fleet limits list --json
    """
    with Fleet.open() as fleet:
        limits = fleet.engines.limits()
    if json:
        terminal.say_json(limits)
        return
    if not limits.holds and not limits.quotas:
        terminal.say("nothing is held back")
    for hold in limits.holds:
        until = f" until {hold.until}" if hold.until else f": log in, then `fleet limits lift {hold.engine}`"
        trial = f"; {hold.trial} is trying" if hold.trial else ""
        terminal.say(f"{hold.engine} is held back{until} ({hold.reason}){trial}")
    for quota in limits.quotas:
        reset = f", reset at {quota.resets_at}" if quota.resets_at else ""
        terminal.say(f"{quota.engine}: {quota.percent} % of {quota.span}{reset}")


@limits.command("lift")
@click.argument("engine")
@unkeyed
def lift(engine: str, **given: Unpack[Unkeyed]) -> None:
    """Say that an engine works again.

    \b
    Examples:
      fleet limits lift claude
    """
    with Fleet.open(actor=given["as"]) as fleet:
        lifted = fleet.engines.lift(engine)
    if given["json"]:
        terminal.say_json(lifted)
        return
    terminal.say(f"{engine} is {'not held back any more' if lifted.lifted else 'not held back'}")


@click.command("hook")
@click.argument("event")
@click.option("--engine", metavar="NAME", required=True, help="whose dialect the event speaks")
def hook(**_given: str) -> None:
    """Take in an event of an engine: its JSON comes on standard input. Called by engines, not by people.

    \b
    Examples:
      fleet hook Stop --engine claude
    """


COMMANDS = {"hooks": hooks, "limits": limits, "hook": hook}
