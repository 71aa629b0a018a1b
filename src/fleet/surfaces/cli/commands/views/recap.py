"""The command `fleet recap`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fleet.api.fleet import Fleet
from fleet.model.text.times import utc
from fleet.surfaces.cli.options import ProjectName, json_option, read_time
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from fleet.model.results.merge import Waiting
    from fleet.model.results.views import Asked, MergedTaskView, Recap, SettledView

# How many lines of a section are printed.
_SHOWN = 10


@click.command("recap")
@click.option(
    "--since", metavar="TIME", default="24h", show_default=True, help="the time to start from: 8h, 18:00, 2026-11-15"
)
@click.option("-p", "--project", metavar="NAME", type=ProjectName(), help="only this project")
@json_option
def recap(since: str, project: str | None, **given: Any) -> None:
    """Show what happened since a time: what was merged, waits for you, failed, was interrupted, and what it cost.

    \b
    Examples:
      fleet recap
      fleet recap --since 18:00 -p web
    """
    with Fleet.open() as fleet:
        named = None if project is None else fleet.project_here(project)
        page = fleet.views.recap(since=read_time(since, fleet, back=True) or 0, project=named)
    terminal.say_json(page) if given["json"] else _print_recap(page)


def _print_recap(page: Recap) -> None:
    """Print the sections of a recap and what agents have cost."""
    terminal.say(terminal.paint(f"Since {utc(page.since)}", "bold"))
    _print_section("merged", "green", [f"{_place(task)}  {task.title}" for task in page.merged])
    _print_section("waits for your review", "yellow", [f"{_place(task)}  {task.title}" for task in page.review])
    _print_section(
        "waits for your answer",
        "yellow",
        [f"{_place(question)}  {_one_line(question.text)}" for question in page.asked],
    )
    merged = {_place(task) for task in page.merged}
    _print_section("failed", "red", [_with_reason(settled, merged) for settled in page.failed])
    _print_section("blocked", "yellow", [_with_reason(settled, merged) for settled in page.blocked])
    _print_section("interrupted", "yellow", [_with_reason(settled, merged) for settled in page.interrupted])
    spent = page.spent
    cost = terminal.spending(spent.tokens, spent.dollars, spent.unpriced) if spent.agents else "not reported"
    terminal.say(f"  spent: {cost}")


def _print_section(title: str, colour: str, lines: list[str]) -> None:
    """Print a section of the recap: its count and its first lines. Skip an empty section, except "merged"."""
    if not lines and title != "merged":
        return
    terminal.say(f"  {title}: {terminal.paint(str(len(lines)), colour if lines else '')}")
    for line in lines[:_SHOWN]:
        terminal.say(terminal.shortened(f"    {line}", terminal.cut_width()))
    if len(lines) > _SHOWN:
        terminal.say(f"    and {len(lines) - _SHOWN} more")


def _place(each: MergedTaskView | Waiting | Asked | SettledView) -> str:
    """Return an entry of the recap as project/task, or project/coordinator."""
    return f"{each.project}/{each.slug or 'coordinator'}"


def _with_reason(settled: SettledView, merged: set[str]) -> str:
    """Return a line about an ended dispatch: its task, why it ended, and that its task has been merged since, if it has.

    `merged` has the merged tasks as "project/slug".
    """
    since = "merged since; " if _place(settled) in merged else ""
    return f"{_place(settled)}  {since}{_one_line(settled.reason or '')}".rstrip(" ;")


def _one_line(text: str) -> str:
    """Return the text on one line."""
    return " ".join(text.split())


COMMANDS = {"recap": recap}
