"""fleet dispatches."""

from __future__ import annotations

from typing import Any

import click

from fleet.api.fleet import Fleet
from fleet.surfaces.cli import terminal
from fleet.surfaces.cli.options import json_option, reading
from fleet.surfaces.cli.picking import picked

_HEADS = ("ID", "KIND", "OWNER", "EXEC", "RECLAIM", "CLAIMS", "CREATED", "REASON")


@click.group("dispatches")
def dispatches() -> None:
    """The journals of attempts.

    \b
    fleet dispatches list
    fleet dispatches show 3f2a9c01
    """


@dispatches.command("list")
@click.option("--unfinished", is_flag=True, help="only those that have not ended")
@reading
def list_(**given: Any) -> None:
    """List the journals: states, claims held, ages.

    \b
    Examples:
      fleet dispatches list
      fleet dispatches list --unfinished --json
    """
    with Fleet.open() as fleet:
        found = fleet.dispatches(given["project"], ended=not given["unfinished"])
    if given["json"]:
        terminal.say_json(found)
    elif not found:
        terminal.say("no journals: everything that ended is archived")
    else:
        for line in terminal.table(_HEADS, map(_row, found)):
            terminal.say(line)


def _row(journal: dict[str, Any]) -> tuple[str, ...]:
    keys = ("id", "kind", "owner", "exec_state", "recl_state", "claims", "created_at", "blocked_reason")
    return tuple("" if journal[key] is None else str(journal[key]) for key in keys)


@dispatches.command("show")
@click.argument("agent", required=False)
@json_option
def show(agent: str | None, **given: Any) -> None:
    """One journal with its claims, live or archived alike.

    \b
    Examples:
      fleet dispatches show 3f2a9c01
      fleet dispatches show 3f2a9c01 --json
    """
    with Fleet.open() as fleet:
        found = fleet.journal(agent if agent and _archived(fleet, agent) else picked(fleet, agent))
    if given["json"]:
        terminal.say_json(found)
        return
    for name, value in found.items():
        if name != "claims" and value is not None:
            terminal.say(f"  {name:<15} {value}")
    for claim in found["claims"]:
        named = claim["data"].get("name") or claim["data"].get("session") or ""
        terminal.say(f"  {claim['class']:<10} {claim['kind']:<20} {claim['state']:<18} {named}")


def _archived(fleet: Fleet, agent: str) -> bool:
    return any(name.startswith(f"{agent}-") for name in fleet.files.names("dispatches/archive"))


COMMANDS = {"dispatches": dispatches}
