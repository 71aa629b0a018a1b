"""fleet dispatches."""

from __future__ import annotations

from typing import Any

import click

from fleet.api.fleet import Fleet
from fleet.surfaces.cli import terminal
from fleet.surfaces.cli.options import json_option, reading


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
        return
    rows = [
        (
            d["id"],
            d["kind"],
            d["owner"],
            d["exec_state"],
            d["recl_state"],
            str(d["claims"]),
            d["created_at"],
            d["blocked_reason"] or "",
        )
        for d in found
    ]
    if not rows:
        terminal.say("no journals: everything that ended is archived")
        return
    for line in terminal.table(("ID", "KIND", "OWNER", "EXEC", "RECLAIM", "CLAIMS", "CREATED", "REASON"), rows):
        terminal.say(line)


@dispatches.command("show")
@click.argument("agent")
@json_option
def show(agent: str, **given: Any) -> None:
    """One journal with its claims, live or archived alike.

    \b
    Examples:
      fleet dispatches show 3f2a9c01
      fleet dispatches show 3f2a9c01 --json
    """
    with Fleet.open() as fleet:
        found = fleet.journal(agent if _archived(fleet, agent) else fleet.find(agent))
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
