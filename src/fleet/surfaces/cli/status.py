"""fleet status."""

from __future__ import annotations

from typing import Any

import click

from fleet.api.looking import Looking
from fleet.surfaces.cli import terminal
from fleet.surfaces.cli.options import json_option


@click.command("status")
@json_option
def status(**given: Any) -> None:
    """What is going on, on one page: trouble first, then who works on what, then a row a project.

    \b
    Examples:
      fleet status
      fleet status --json | jq .trouble
    """
    with Looking.open() as fleet:
        found = fleet.overview()
    if given["json"]:
        terminal.say_json(found)
        return
    if not found["projects"]:
        terminal.say("no projects yet: `fleet init` in a repository registers it")
        return
    _trouble(found["trouble"])
    _working(found["working"])
    rows = [_row(each) for each in found["projects"]]
    for line in terminal.table(("PROJECT", "READY", "WAITING", "WORKING", "TROUBLE", "DONE", ""), rows):
        terminal.say(line)
    for said in found["reclaim"]:
        terminal.say(terminal.paint(f"{said} — `fleet clean` shows and offers what to do", "yellow"))


def _row(project: dict[str, Any]) -> tuple[str, ...]:
    count = project["tasks"]
    waiting, trouble = count["open"] - project["ready"], count["failed"] + count["blocked"]
    numbers = (project["ready"], waiting, count["in_progress"], trouble, count["done"])
    count = project["dispatches"]
    said = f"dispatches: {count['active']} active, {count['blocked_reclaim']} blocked-reclaim"
    return (project["name"], *(str(number) for number in numbers), said)


def _trouble(found: list[dict[str, Any]]) -> None:
    if not found:
        return
    terminal.say(terminal.paint("In trouble", "bold"))
    for each in found:
        reason = f": {' '.join(each['reason'].split())}" if each["reason"] else ""
        terminal.say(f"  {terminal.state(each['status'])} {each['project']}/{each['slug']}{reason}")
    terminal.say()


def _working(found: list[dict[str, Any]]) -> None:
    if not found:
        return
    terminal.say(terminal.paint("Working", "bold"))
    for each in found:
        since = terminal.paint(f"since {each['started_at']}", "dim")
        terminal.say(f"  {each['assignee']} on {each['project']}/{each['slug']}  {each['title']}  {since}")
    terminal.say()


COMMANDS = {"status": status}
