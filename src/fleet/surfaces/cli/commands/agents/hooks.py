"""The commands `fleet hooks`, `fleet limits`, and `fleet hook`, which engines call."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from fleet.api.fleet import Fleet
from fleet.api.views.sections import held_in_words
from fleet.model import FLEET_DISPATCH_ID
from fleet.model.text.times import utc
from fleet.surfaces.cli.hot import hook as hot_hook
from fleet.surfaces.cli.options import Slug, json_option, project_option, writing_home_unkeyed
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.model.results.engines import HooksInstalled, HooksOf
    from fleet.surfaces.cli.options import WritingHomeUnkeyed

_ENGINE = click.option(
    "--engine", metavar="NAME", default="claude", show_default=True, help="the engine whose settings are meant"
)


@click.group("hooks")
def hooks() -> None:
    """Manage the hooks through which engines report what their agents do.

    Agents that fleet starts have the hooks already. Hooks in your own settings are for sessions that you start yourself with
    FLEET_DISPATCH_ID set; in other sessions they do nothing.

    \b
    fleet hooks status
    fleet hooks install --engine claude
    """


@hooks.command("install")
@_ENGINE
@writing_home_unkeyed
def install(engine: str, **given: Unpack[WritingHomeUnkeyed]) -> None:
    """Write fleet's hooks, marked as such, into your own settings of an engine. Other settings are kept.

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
@writing_home_unkeyed
def uninstall(engine: str, **given: Unpack[WritingHomeUnkeyed]) -> None:
    """Remove fleet's hooks, and nothing else, from your own settings of an engine.

    \b
    Examples:
      fleet hooks uninstall
    """
    with Fleet.open(actor=given["as"]) as fleet:
        hooks = fleet.engines.uninstall_hooks(engine)
    _show_installed(hooks, "not in", as_json=given["json"])


def _show_installed(hooks: HooksInstalled, how: str, *, as_json: bool) -> None:
    """Print in which settings file an engine's hooks are (`how` is "installed in" or "not in"), or the result as JSON."""
    if as_json:
        terminal.say_json(hooks)
        return
    terminal.say(f"the hooks of {hooks.engine} are {how} {hooks.file}{'' if hooks.changed else ' (as before)'}")


@hooks.command("status")
@json_option
def status(*, json: bool) -> None:
    """List the engines that have hooks, and whether they are in your own settings.

    \b
    Examples:
      fleet hooks status
      fleet hooks status --json
    """
    with Fleet.open() as fleet:
        engines = fleet.engines.hooks()
    if json:
        terminal.say_json(engines)
        return
    rows = [(engine.engine, "given to each agent", _where_installed(engine)) for engine in engines]
    for line in terminal.table(("ENGINE", "BY FLEET", "YOUR OWN SETTINGS"), rows):
        terminal.say(line)


def _where_installed(hooks: HooksOf) -> str:
    """Return where an engine's hooks are installed, in words."""
    if hooks.file is None:
        return "not supported"
    if not hooks.installed:
        return "not installed"
    return f"in {hooks.file}" if hooks.current else f"in {hooks.file}, written by another fleet: install them again"


@click.group("limits")
def limits() -> None:
    """List and release engines that are held back by a usage limit or a missing login; allow more than a budget.

    \b
    fleet limits list
    fleet limits lift claude
    fleet limits allow 5 parser
    """


@limits.command("list")
@json_option
def list_limits(*, json: bool) -> None:
    """List engines that are held back, and how much of their usage limits is spent.

    \b
    Examples:
      fleet limits list
      fleet limits list --json
    """
    with Fleet.open() as fleet:
        limits, now = fleet.engines.limits(), fleet.clock.now()
    if json:
        terminal.say_json(limits)
        return
    if not limits.holds and not limits.quotas:
        terminal.say("no engine is held back")
    for hold in limits.holds:
        lift = "" if hold.until else f"; then run `fleet limits lift {hold.engine}`"
        trial = f"; {hold.trial} is trying it now" if hold.trial else ""
        terminal.say(f"{hold.engine} {held_in_words(hold.until, now)} ({hold.reason}){lift}{trial}")
    for quota in limits.quotas:
        reset = f", reset at {utc(quota.resets_at)}" if quota.resets_at else ""
        terminal.say(f"{quota.engine}: {quota.percent} % of {quota.span}{reset}")


@limits.command("lift")
@click.argument("engine")
@writing_home_unkeyed
def lift(engine: str, **given: Unpack[WritingHomeUnkeyed]) -> None:
    """Release an engine that works again. One agent that it stopped continues first, the others when its model has answered.

    \b
    Examples:
      fleet limits lift claude
    """
    with Fleet.open(actor=given["as"]) as fleet:
        lifted = fleet.engines.lift(engine)
    if given["json"]:
        terminal.say_json(lifted)
        return
    terminal.say(
        f"{engine} is {'not held back any more: the next agent tries it' if lifted.lifted else 'not held back'}"
    )
    if lifted.continued:
        terminal.say(f"  told to continue: {', '.join(lifted.continued)}")
    attended = [ident for ident in lifted.waiting if ident not in lifted.unattended]
    if attended:
        terminal.say(f"  follow when its model has answered, at the coordinator's next tick: {', '.join(attended)}")
    if lifted.unattended:
        terminal.say(f"  wait, because nobody in this home coordinates their project: {', '.join(lifted.unattended)}")
        terminal.say(f"  run `fleet limits lift {engine}` again when {engine} has answered: they continue then")


@limits.command("allow")
@click.argument("dollars", type=float)
@click.argument("slug", required=False, type=Slug())
@click.option("--today", is_flag=True, help="beyond the budget of today, for all projects")
@project_option
@writing_home_unkeyed
def allow(
    dollars: float, *, slug: str | None, today: bool, project: str | None, **given: Unpack[WritingHomeUnkeyed]
) -> None:
    """Allow DOLLARS beyond a budget: of a task, of a project, or of today. Agents that it stopped go on.

    \b
    Examples:
      fleet limits allow 5 parser
      fleet limits allow 20 -p web
      fleet limits allow 50 --today
    """
    if today and (slug or project):
        raise click.UsageError("--today is for all projects: give neither a task nor a project with it")
    with Fleet.open(actor=given.get("as")) as fleet:
        allowed = fleet.engines.allow(dollars, project=None if today else fleet.project_here(project), slug=slug)
    if given.get("json"):
        terminal.say_json(allowed)
        return
    terminal.say(f"${allowed.dollars:.2f} more is allowed for {allowed.scope} {allowed.name}")
    for ident in allowed.continued:
        terminal.say(f"  agent {ident} was told to go on")


@click.command("hook")
@click.argument("event")
@click.option("--engine", metavar="NAME", required=True, help="the engine that sends the event")
def hook(event: str, engine: str) -> int:
    """Record an event of an engine, given as JSON on standard input. Engines call this, not people.

    \b
    Examples:
      fleet hook Stop --engine claude
    """
    # Words in exactly this form are run by `surfaces/cli/entry.py`, so that click need not be loaded.
    if not os.environ.get(FLEET_DISPATCH_ID):
        return 0  # outside an agent of fleet a hook does nothing
    return hot_hook.run(event=event, engine=engine)


COMMANDS = {"hooks": hooks, "limits": limits, "hook": hook}
