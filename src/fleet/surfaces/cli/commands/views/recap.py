"""fleet recap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fleet.api.fleet import Fleet
from fleet.surfaces.cli.options import ProjectName, json_option
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.when import moment

if TYPE_CHECKING:
    from fleet.model.results.merge import Waiting
    from fleet.model.results.views import Asked, MergedTaskView, Recap, SettledView

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
        page = fleet.views.recap(since=moment(since, fleet, back=True) or 0, project=named)
    terminal.say_json(page) if given["json"] else _show(page)


def _show(page: Recap) -> None:
    terminal.say(terminal.paint(f"Since {page.since[:16].replace('T', ' ')} UTC", "bold"))
    _part("merged", "green", [f"{_where(each)}  {each.title}" for each in page.merged])
    _part("waits for your review", "yellow", [f"{_where(each)}  {each.title}" for each in page.review])
    _part("waits for your answer", "yellow", [f"{_where(each)}  {_line(each.text)}" for each in page.asked])
    merged = {_where(each) for each in page.merged}
    _part("failed", "red", [_with_reason(each, merged) for each in page.failed])
    _part("blocked", "yellow", [_with_reason(each, merged) for each in page.blocked])
    _part("interrupted", "yellow", [_with_reason(each, merged) for each in page.interrupted])
    spent = page.spent
    cost = f"${spent.dollars:.2f}, {spent.tokens:,} tokens" if spent.agents else "not reported"
    terminal.say(f"  spent: {cost}")


def _part(title: str, colour: str, lines: list[str]) -> None:
    if not lines and title != "merged":
        return
    terminal.say(f"  {title}: {terminal.paint(str(len(lines)), colour if lines else '')}")
    for line in lines[:_SHOWN]:
        terminal.say(terminal.shortened(f"    {line}", terminal.room()))
    if len(lines) > _SHOWN:
        terminal.say(f"    and {len(lines) - _SHOWN} more")


def _where(each: MergedTaskView | Waiting | Asked | SettledView) -> str:
    return f"{each.project}/{each.slug or 'coordinator'}"


def _with_reason(settled: SettledView, merged: set[str]) -> str:
    """How an attempt ended, and first whether a later attempt was merged."""
    since = "merged since; " if _where(settled) in merged else ""
    return f"{_where(settled)}  {since}{_line(settled.reason or '')}".rstrip(" ;")


def _line(text: str) -> str:
    return " ".join(text.split())


COMMANDS = {"recap": recap}
