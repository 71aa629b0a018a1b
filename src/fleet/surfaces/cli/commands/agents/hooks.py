"""fleet hooks, limits, and the words that engines call."""

from __future__ import annotations

from typing import Any

import click

from fleet.api.fleet import Fleet
from fleet.surfaces.cli.options import json_option, unkeyed
from fleet.surfaces.cli.ui import terminal

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
def install(engine: str, **given: Any) -> None:
    """Write fleet's hooks into your own settings of an engine, marked; what is there stays.

    \b
    Examples:
      fleet hooks install
      fleet hooks install --engine claude --json
    """
    with Fleet.open(actor=given["as"]) as fleet:
        done = fleet.engines.install_hooks(engine)
    _told(done, "installed in", as_json=given["json"])


@hooks.command("uninstall")
@_ENGINE
@unkeyed
def uninstall(engine: str, **given: Any) -> None:
    """Take fleet's hooks out of your own settings again, and nothing else.

    \b
    Examples:
      fleet hooks uninstall
    """
    with Fleet.open(actor=given["as"]) as fleet:
        done = fleet.engines.uninstall_hooks(engine)
    _told(done, "not in", as_json=given["json"])


def _told(done: dict[str, Any], how: str, *, as_json: bool) -> None:
    if as_json:
        terminal.say_json(done)
        return
    terminal.say(f"the hooks of {done['engine']} are {how} {done['file']}{'' if done['changed'] else ' (as before)'}")


@hooks.command("status")
@json_option
def status(**given: Any) -> None:
    """Which engines have hooks, and whether they are in your own settings.

    \b
    Examples:
      fleet hooks status
      fleet hooks status --json
    """
    with Fleet.open() as fleet:
        found = fleet.engines.hooks()
    if given["json"]:
        terminal.say_json(found)
        return
    rows = [(each["engine"], "given to each agent", _installed(each)) for each in found]
    for line in terminal.table(("ENGINE", "BY FLEET", "YOUR OWN SETTINGS"), rows):
        terminal.say(line)


def _installed(each: dict[str, Any]) -> str:
    if each["file"] is None:
        return "not supported"
    if not each["installed"]:
        return "not installed"
    return f"in {each['file']}" if each["current"] else f"in {each['file']}, of another fleet: install again"


@click.group("limits")
def limits() -> None:
    """Engines that are held back by a limit or a login.

    \b
    fleet limits list
    fleet limits lift claude
    """


@limits.command("list")
@json_option
def list_limits(**given: Any) -> None:
    """Engines that are held back, and how much of their windows is used.

    \b
    Examples:
      fleet limits list
      fleet limits list --json
    """
    with Fleet.open() as fleet:
        found = fleet.engines.limits()
    if given["json"]:
        terminal.say_json(found)
        return
    if not found["holds"] and not found["quotas"]:
        terminal.say("nothing is held back")
    for each in found["holds"]:
        until = f" until {each['until']}" if each["until"] else f": log in, then `fleet limits lift {each['engine']}`"
        trial = f"; {each['trial']} is trying" if each["trial"] else ""
        terminal.say(f"{each['engine']} is held back{until} ({each['reason']}){trial}")
    for each in found["quotas"]:
        reset = f", reset at {each['resets_at']}" if each["resets_at"] else ""
        terminal.say(f"{each['engine']}: {each['percent']} % of {each['span']}{reset}")


@limits.command("lift")
@click.argument("engine")
@unkeyed
def lift(engine: str, **given: Any) -> None:
    """Say that an engine works again.

    \b
    Examples:
      fleet limits lift claude
    """
    with Fleet.open(actor=given["as"]) as fleet:
        done = fleet.engines.lift(engine)
    if given["json"]:
        terminal.say_json(done)
        return
    terminal.say(f"{engine} is {'not held back any more' if done['lifted'] else 'not held back'}")


@click.command("hook")
@click.argument("event")
@click.option("--engine", metavar="NAME", required=True, help="whose dialect the event speaks")
def hook(**_given: Any) -> None:
    """Take in an event of an engine: its JSON comes on standard input. Called by engines, not by people.

    \b
    Examples:
      fleet hook Stop --engine claude
    """


COMMANDS = {"hooks": hooks, "limits": limits, "hook": hook}
