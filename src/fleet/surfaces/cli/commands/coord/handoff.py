"""fleet handoff, handoffs, drain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.states import assert_never
from fleet.surfaces.cli.options import json_option, reading, unkeyed
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.picking import picked

if TYPE_CHECKING:
    from typing import TextIO, Unpack

    from fleet.model.results.coord import HandoffView
    from fleet.surfaces.cli.options import Unkeyed

_PATIENCE = 60.0


@click.command("handoff")
@click.argument("agent", required=False)
@click.option("-r", "--reason", default="asked for", show_default=True, metavar="TEXT", help="why it is handed off")
@click.option("--doc", type=click.File("r", encoding="utf-8"), metavar="FILE|-", help="what the successor is to know")
@unkeyed
def handoff(agent: str | None, reason: str, doc: TextIO | None, **given: Unpack[Unkeyed]) -> None:
    """Let an agent make way for a successor that knows what it knew.

    The document is written first, from the task, its log and commits, and what --doc says. Then the agent is asked to exit, and a
    successor goes on in its worktree. An agent says it about itself without naming itself, and ends its turn.

    \b
    Examples:
      fleet handoff fix-login --reason "context is full"
      fleet handoff --doc - < notes.md
    """
    written = doc.read() if doc is not None else ""
    with Fleet.open(actor=given["as"]) as fleet:
        ident = fleet.speaker if agent is None and fleet.speaker else picked(fleet, agent)
        entry = fleet.coord.hand_off(ident, reason=reason, written=written)
        if fleet.speaker is not None:
            fleet.world.start_fleet("drain", "--wait")  # it must outlive the agent that is speaking
        else:
            if not given["json"]:
                terminal.warn(f"{ident} is asked to exit …")
            finished = fleet.coord.finish_handoff(entry.id, limit=_PATIENCE)
            entry = finished.replaced(changed=entry.changed, warnings=entry.warnings)
    if given["json"]:
        terminal.say_json(entry)
        return
    terminal.say(_describe(entry))
    for warning in entry.warnings or ():
        terminal.say(f"  warning: {warning}")


def _describe(entry: HandoffView) -> str:
    what = f"{entry.dispatch} ({entry.slug or 'coordinator of ' + entry.project})"
    match entry.state:
        case "done":
            return f"{what} was handed off to {entry.successor}"
        case "dropped":
            return f"{what} has ended, and was not handed off: `fleet dispatches show {entry.dispatch}` says how"
        case "queued":
            return f"{what} is to be handed off{': ' + entry.deferred if entry.deferred else ''}"
        case _:
            return assert_never(entry.state)


@click.command("drain")
@click.option("-p", "--project", metavar="PROJECT", help="only this project's")
@click.option("--wait", is_flag=True, help="go on until each is finished, for a minute at most")
@json_option
def drain(project: str | None, *, wait: bool, json: bool) -> None:
    """Carry on every handoff that waits.

    \b
    Examples:
      fleet drain
      fleet drain -p web --wait
    """
    with Fleet.open() as fleet:
        entries = fleet.coord.drain(project)
        if wait:
            entries = [fleet.coord.finish_handoff(entry.id, limit=_PATIENCE) for entry in entries]
    if json:
        terminal.say_json(entries)
        return
    for entry in entries:
        terminal.say(_describe(entry))
    if not entries:
        terminal.say("no handoff waits")


@click.group("handoffs")
def handoffs() -> None:
    """Handoffs and their documents.

    \b
    Examples:
      fleet handoffs list -p web
      fleet handoffs show 3f2a9c01
    """


@handoffs.command("list")
@click.option("--all", "everywhere", is_flag=True, help="of every project")
@reading
def list_(project: str | None, *, everywhere: bool, json: bool) -> None:
    """Every handoff, oldest first.

    \b
    Examples:
      fleet handoffs list -p web
      fleet handoffs list --all --json
    """
    with Fleet.open() as fleet:
        entries = fleet.coord.handoffs(None if everywhere else fleet.project_here(project))
    if json:
        terminal.say_json(entries)
        return
    for entry in entries:
        terminal.say(f"{entry.at}  {entry.id}  {_describe(entry)}")
    if not entries:
        terminal.say("no handoffs yet")


@handoffs.command("show")
@click.argument("ident")
@json_option
def show(ident: str, *, json: bool) -> None:
    """A handoff's document, by its own id or that of the agent.

    \b
    Examples:
      fleet handoffs show 3f2a9c01
    """
    if not ident.strip():
        raise errors.BadInput(what="name a handoff; `fleet handoffs list` shows what there is")
    with Fleet.open() as fleet:
        entry = fleet.coord.handoff(ident)
    if json:
        terminal.say_json(entry)
    else:
        terminal.say_text(entry.text or "")


COMMANDS = {"handoff": handoff, "handoffs": handoffs, "drain": drain}
