"""The commands `fleet handoff`, `handoffs` and `drain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.states import assert_never
from fleet.model.text.times import utc
from fleet.surfaces.cli.options import json_option, reading, writing_home_unkeyed
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.picking import pick_agent
from fleet.surfaces.cli.ui.waiting import waiting

if TYPE_CHECKING:
    from typing import TextIO, Unpack

    from fleet.model.results.coord import HandoffView
    from fleet.surfaces.cli.options import WritingHomeUnkeyed

# Seconds to wait for the end of a handoff.
_PATIENCE = 60.0


@click.command("handoff")
@click.argument("agent", required=False)
@click.option(
    "-r", "--reason", default="asked for", show_default=True, metavar="TEXT", help="the reason for the handoff"
)
@click.option("--doc", type=click.File("r", encoding="utf-8"), metavar="FILE|-", help="notes for the successor")
@writing_home_unkeyed
def handoff(agent: str | None, reason: str, doc: TextIO | None, **given: Unpack[WritingHomeUnkeyed]) -> None:
    """Replace an agent by a successor that knows what the agent knew.

    First fleet writes a document for the successor, from the task, its log and commits, and the notes of --doc. Then the agent is
    asked to exit, and a successor continues in its worktree. An agent that hands itself off names no agent, and ends its turn.

    \b
    Examples:
      fleet handoff fix-login --reason "context is full"
      fleet handoff --doc - < notes.md
    """
    written = doc.read() if doc is not None else ""
    with Fleet.open(actor=given["as"]) as fleet:
        ident = fleet.speaker if agent is None and fleet.speaker else pick_agent(fleet, agent)
        entry = fleet.coord.hand_off(ident, reason=reason, written=written)
        if fleet.speaker is not None:
            fleet.coord.drain_later()
        else:
            if not given["json"]:
                terminal.warn(f"{ident} is asked to exit …")
            with waiting(f"handing {ident} off"):
                finished = fleet.coord.finish_handoff(entry.id, limit=_PATIENCE)
            entry = finished.replaced(changed=entry.changed, warnings=_joined_warnings(entry, finished))
    if given["json"]:
        terminal.say_json(entry)
        return
    _print_entry(entry)


def _joined_warnings(first: HandoffView, then: HandoffView) -> list[str]:
    """Return the warnings of two states of one handoff, without repetitions."""
    return list(dict.fromkeys([*(first.warnings or ()), *(then.warnings or ())]))


def _print_entry(entry: HandoffView) -> None:
    """Print the state of a handoff, and its warnings."""
    terminal.say(_describe_handoff(entry))
    for warning in entry.warnings or ():
        terminal.say(f"  warning: {warning}")


def _describe_handoff(entry: HandoffView) -> str:
    """Return the state of a handoff as a sentence."""
    what = f"{entry.dispatch} ({entry.slug or 'coordinator of ' + entry.project})"
    match entry.state:
        case "done":
            return f"{what} was handed off to {entry.successor}"
        case "dropped" if entry.parked_at is not None:
            return (
                f"{what} has ended, and its task is parked: {entry.fruitless} handoffs in a row brought no commit, artifact or "
                f"changed plan; `fleet resume {entry.dispatch}` starts a new agent"
            )
        case "dropped":
            return (
                f"{what} has ended, and was not handed off: `fleet dispatches show {entry.dispatch}` shows how it ended"
            )
        case "queued":
            return f"{what} waits to be handed off{': ' + entry.deferred if entry.deferred else ''}"
        case _:
            return assert_never(entry.state)


@click.command("drain")
@click.option("-p", "--project", metavar="PROJECT", help="only handoffs of this project")
@click.option("--wait", is_flag=True, help="wait until each is finished, at most a minute")
@json_option
def drain(project: str | None, *, wait: bool, json: bool) -> None:
    """Continue every handoff that waits.

    \b
    Examples:
      fleet drain
      fleet drain -p web --wait
    """
    with Fleet.open() as fleet, waiting("continuing the handoffs"):
        entries = fleet.coord.drain(project)
        if wait:
            entries = [_finish_handoff(fleet, entry) for entry in entries]
    if json:
        terminal.say_json(entries)
        return
    for entry in entries:
        _print_entry(entry)
    if not entries:
        terminal.say("no handoffs wait")


def _finish_handoff(fleet: Fleet, entry: HandoffView) -> HandoffView:
    """Advance a handoff until it is finished, for at most 60 seconds. Returns it with its earlier warnings too."""
    finished = fleet.coord.finish_handoff(entry.id, limit=_PATIENCE)
    return finished.replaced(warnings=_joined_warnings(entry, finished) or None)


@click.group("handoffs")
def handoffs() -> None:
    """List handoffs and show their documents.

    \b
    Examples:
      fleet handoffs list -p web
      fleet handoffs show 3f2a9c01
    """


@handoffs.command("list")
@click.option("--all", "everywhere", is_flag=True, help="handoffs of every project")
@reading
def list_(project: str | None, *, everywhere: bool, json: bool) -> None:
    """List handoffs, oldest first.

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
        terminal.say(f"{utc(entry.at)}  {entry.id}  {_describe_handoff(entry)}")
    if not entries:
        terminal.say("no handoffs yet")


@handoffs.command("show")
@click.argument("ident")
@json_option
def show(ident: str, *, json: bool) -> None:
    """Print a handoff's document. IDENT is the id of the handoff or of the agent.

    \b
    Examples:
      fleet handoffs show 3f2a9c01
    """
    if not ident.strip():
        raise errors.BadInput(what="name a handoff; `fleet handoffs list` lists them")
    with Fleet.open() as fleet:
        entry = fleet.coord.handoff(ident)
    if json:
        terminal.say_json(entry)
    else:
        terminal.say_text(entry.text or "")


COMMANDS = {"handoff": handoff, "handoffs": handoffs, "drain": drain}
