"""fleet job list, show, logs."""

from __future__ import annotations

import sys
from typing import Any

import click

from fleet.api.fleet import Fleet
from fleet.surfaces.cli.options import json_option, reading
from fleet.surfaces.cli.ui import terminal

_HEADS = ("JOB", "NAME", "PROJECT", "STATE", "DONE", "FAILED", "OF", "BEGUN", "REASON")
_ITEM_HEADS = ("ITEM", "LABEL", "STATE", "ATTEMPTS", "COMMIT", "REASON")


@click.command("list")
@reading
def list_(**given: Any) -> None:
    """List jobs, newest first.

    \b
    Examples:
      fleet job list
      fleet job list -p web --json
    """
    with Fleet.open() as fleet:
        found = fleet.jobs.list(given["project"])
    if given["json"]:
        terminal.say_json(found)
        return
    if not found:
        terminal.say("no jobs yet: `fleet job run FILE` runs one")
        return
    for line in terminal.table(_HEADS, [_row(each) for each in found]):
        terminal.say(line)


def _row(each: dict[str, Any]) -> tuple[str, ...]:
    counts = each["items"]
    state = "interrupted" if each["state"] == "running" and not each["runs"] else each["state"]
    failed = counts["dead"] + counts["parked"]
    numbers = (str(counts["done"]), str(failed), str(counts["total"]))
    return (each["id"], each["name"], each["project"], state, *numbers, each["begun_at"], each["reason"] or "")


@click.command("show")
@click.argument("ident", metavar="JOB")
@click.argument("item", required=False)
@click.option("--items", "items", is_flag=True, help="list its items")
@click.option("--state", metavar="STATE", help="only items in this state")
@json_option
def show(ident: str, item: str | None, **given: Any) -> None:
    """How a job stands; its items; or one item with its failures and steps. JOB is an id, the beginning of one, or @last.

    \b
    Examples:
      fleet job show @last
      fleet job show 3f2a9c01 --items --state dead
      fleet job show 3f2a9c01 0c4e1b --json
    """
    with Fleet.open() as fleet:
        found = fleet.jobs.find(ident)
        if item:
            _told(fleet.jobs.item(found, item), as_json=given["json"])
        elif given["items"] or given["state"]:
            _items(fleet, found, given["state"], as_json=given["json"])
        else:
            _told(fleet.jobs.show(found), as_json=given["json"])


def _items(fleet: Fleet, found: str, state: str | None, *, as_json: bool) -> None:
    if as_json:
        terminal.say_json_list(fleet.jobs.items(found, state))
        return
    rows = [
        (
            each["id"],
            each["label"],
            each["state"],
            str(each["attempts"]),
            (each["commit"] or "")[:12],
            each["reason"] or "",
        )
        for each in fleet.jobs.items(found, state)
    ]
    for line in terminal.table(_ITEM_HEADS, rows):
        terminal.say(line)


def _told(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        terminal.say_json(found)
        return
    for name, value in found.items():
        if isinstance(value, list):
            for each in value:
                terminal.say(f"  {name}: " + ", ".join(f"{key} {told}" for key, told in each.items() if told not in {None, ""}))  # fmt: skip
        elif value is not None:
            terminal.say(f"  {name:<11} {value}")


@click.command("logs")
@click.argument("ident", metavar="JOB")
@click.argument("item", required=False)
@json_option
def logs(ident: str, item: str | None, **given: Any) -> None:
    """What the steps printed: of one item, or of all. With --json: one object a line.

    \b
    Examples:
      fleet job logs @last 0c4e1b
      fleet job logs 3f2a9c01 setup
    """
    with Fleet.open() as fleet:
        for name, text in fleet.jobs.logs(fleet.jobs.find(ident), item):
            if given["json"]:
                terminal.say_json({"step": name, "text": text})
            else:
                terminal.say(f"== {name}")
                sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
