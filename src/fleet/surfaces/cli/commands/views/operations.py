"""The commands `fleet ops` and `fleet task watch`."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from fleet.api.fleet import Fleet
from fleet.model.names import DispatchId, slug
from fleet.model.text import jsontext
from fleet.model.text.times import utc
from fleet.surfaces.cli.hot.table import Option
from fleet.surfaces.cli.options import COUNT, Slug, click_option, json_option, read_time, reading
from fleet.surfaces.cli.ui import terminal
from fleet.verbs.views.operations import FOREVER, OperationFilter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.model.results.home import OperationView


@click.command("ops")
@click_option(Option("-p", "--project", metavar="NAME", help="only operations of this project"))
@click.option("-t", "--task", metavar="SLUG", type=Slug(), help="only operations of this task")
@click.option("--dispatch", metavar="ID", help="only operations of this dispatch")
@click.option("--actor", metavar="NAME", help="only operations by this actor")
@click.option("--since", metavar="TIME", help="only operations after this time: 2h, 18:00, 2026-11-15")
@click.option("--until", metavar="TIME", help="only operations before this time")
@click.option("-n", "--limit", type=COUNT, default=100, show_default=True, help="only the newest N")
@click.option("--archived", is_flag=True, help="include archived operations")
@click.option("-f", "--follow", is_flag=True, help="keep printing new operations until Ctrl-C")
@json_option
def ops(**given: Any) -> None:
    """List the operations: what was done, by whom and why. Every change has one line. With --json: one object per line.

    \b
    Examples:
      fleet ops --since 2h
      fleet ops --task parser -p web
      fleet ops --follow --json
    """
    with Fleet.open() as fleet:
        newest = fleet.operations.newest() if given["follow"] else FOREVER
        listed = fleet.operations.with_archived if given["archived"] else fleet.operations.list
        _print_operations(
            listed(_operation_filter(fleet, given, until=newest), limit=given["limit"]), as_json=given["json"]
        )
        if given["follow"]:
            more = fleet.operations.follow(_operation_filter(fleet, given), after=newest, wanted=terminal.has_reader)
            _print_operations(more, as_json=given["json"])


def _operation_filter(fleet: Fleet, given: dict[str, Any], *, until: int = FOREVER) -> OperationFilter:
    """Return the filter for operations that the options of `fleet ops` describe.

    `until` is the highest sequence number that passes.
    """
    named = given["project"] is not None or given["task"] is not None
    return OperationFilter(
        project=fleet.project_here(given["project"]) if named else None,
        slug=None if given["task"] is None else slug(given["task"]),
        dispatch=None if given["dispatch"] is None else DispatchId(given["dispatch"]),
        actor=given["actor"],
        since=_time_or(read_time(given["since"], fleet, back=True), 0),
        before=_time_or(read_time(given["until"], fleet, back=True), FOREVER),
        until=until,
    )


def _time_or(at: int | None, otherwise: int) -> int:
    return otherwise if at is None else at


@click.command("watch")
@click.argument("task", metavar="[SLUG]", required=False, type=Slug())
@click.option(
    "--after", type=click.IntRange(0, FOREVER), metavar="SEQ", help="start after this sequence number (default: now)"
)
@click.option("-n", "--limit", type=COUNT, metavar="N", help="end after N changes")
@reading
def watch(task: str | None, **given: Any) -> None:
    """Print changes of tasks as they happen, until Ctrl-C. With --json: one object per line.

    \b
    Examples:
      fleet task watch
      fleet task watch parser --json
      fleet task watch --after 0 --limit 10
    """
    with Fleet.open() as fleet:
        project = fleet.project_here(given["project"])
        if task is not None:
            fleet.tasks.show(project=project, slug=task)
        start = fleet.operations.newest() if given["after"] is None else given["after"]
        changes = fleet.operations.follow(
            OperationFilter(project=project, slug=task), after=start, wanted=terminal.has_reader
        )
        _print_operations(islice(changes, given["limit"]), as_json=given["json"])


def _print_operations(operations: Iterable[OperationView], *, as_json: bool) -> None:
    """Print operations one by one, as soon as each arrives."""
    for operation in operations:
        terminal.say(jsontext.dumps(operation) if as_json else _operation_line(operation))
        sys.stdout.flush()


def _operation_line(operation: OperationView) -> str:
    """Return an operation on one line: number, time, actor, why, and its reason or message."""
    reason = operation.what.get("reason") or operation.what.get("message") or ""
    more = terminal.paint(f"  {' '.join(str(reason).split())}", "dim") if reason else ""
    at = terminal.paint(utc(operation.at), "dim")
    return f"{operation.seq:>6}  {at}  {operation.actor}  {operation.why}{more}"


COMMANDS = {"ops": ops, "task watch": watch}
