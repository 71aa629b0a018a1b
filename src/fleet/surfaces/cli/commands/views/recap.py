"""fleet recap."""

from __future__ import annotations

from typing import Any

import click

from fleet.api.fleet import Fleet
from fleet.surfaces.cli.options import ProjectName, json_option
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.when import moment

_SHOWN = 10


@click.command("recap")
@click.option("--since", metavar="TIME", default="24h", show_default=True, help="since then: 8h, 18:00, 2026-11-15")
@click.option("-p", "--project", metavar="NAME", type=ProjectName(), help="only of this project")
@json_option
def recap(since: str, project: str | None, **given: Any) -> None:
    """What happened since a time: merged, waiting for you, failed, interrupted, spent.

    \b
    Examples:
      fleet recap
      fleet recap --since 18:00 -p web
    """
    with Fleet.open() as fleet:
        named = None if project is None else fleet.project_here(project)
        found = fleet.views.recap(since=moment(since, fleet, back=True) or 0, project=named)
    terminal.say_json(found) if given["json"] else _told(found)


def _told(found: dict[str, Any]) -> None:
    terminal.say(terminal.paint(f"Since {found['since'][:16].replace('T', ' ')} UTC", "bold"))
    _part("merged", "green", [f"{_where(each)}  {each['title']}" for each in found["merged"]])
    _part("waits for your review", "yellow", [f"{_where(each)}  {each['title']}" for each in found["review"]])
    _part("waits for your answer", "yellow", [f"{_where(each)}  {_line(each['text'])}" for each in found["asked"]])
    merged = {_where(each) for each in found["merged"]}
    _part("failed", "red", [_with_reason(each, merged) for each in found["failed"]])
    _part("blocked", "yellow", [_with_reason(each, merged) for each in found["blocked"]])
    _part("interrupted", "yellow", [_with_reason(each, merged) for each in found["interrupted"]])
    spent = found["spent"]
    told = f"${spent['dollars']:.2f}, {spent['tokens']:,} tokens" if spent["agents"] else "nothing that was told"
    terminal.say(f"  spent: {told}")


def _part(title: str, colour: str, lines: list[str]) -> None:
    if not lines and title != "merged":
        return
    terminal.say(f"  {title}: {terminal.paint(str(len(lines)), colour if lines else '')}")
    for line in lines[:_SHOWN]:
        terminal.say(terminal.shortened(f"    {line}", terminal.room()))
    if len(lines) > _SHOWN:
        terminal.say(f"    and {len(lines) - _SHOWN} more")


def _where(each: dict[str, Any]) -> str:
    return f"{each['project']}/{each['slug'] or 'coordinator'}"


def _with_reason(each: dict[str, Any], merged: set[str]) -> str:
    """What became of an attempt; that another one made it good is said first."""
    since = "merged since; " if _where(each) in merged else ""
    return f"{_where(each)}  {since}{_line(each['reason'] or '')}".rstrip(" ;")


def _line(text: str) -> str:
    return " ".join(text.split())


COMMANDS = {"recap": recap}
