"""fleet ops, fleet task watch."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from fleet.api.fleet import Fleet
from fleet.model.names import DispatchId, slug
from fleet.model.text import jsontext
from fleet.surfaces.cli.options import COUNT, ProjectName, Slug, json_option, reading
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.when import moment
from fleet.verbs.views.operations import FOREVER, Which

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.model.results.home import OperationView


@click.command("ops")
@click.option("-p", "--project", metavar="NAME", type=ProjectName(), help="only those of this project")
@click.option("-t", "--task", metavar="SLUG", type=Slug(), help="only those of this task")
@click.option("--dispatch", metavar="ID", help="only those of this dispatch")
@click.option("--actor", metavar="NAME", help="only those by this actor")
@click.option("--since", metavar="TIME", help="only those after then: 2h, 18:00, 2026-11-15")
@click.option("--until", metavar="TIME", help="only those before then")
@click.option("-n", "--limit", type=COUNT, default=100, show_default=True, help="the newest so many")
@click.option("--archived", is_flag=True, help="those in the archive too")
@click.option("-f", "--follow", is_flag=True, help="wait for more; Ctrl-C ends it")
@json_option
def ops(**given: Any) -> None:
    """What was done, by whom and why. Every change has one line here. With --json: one object a line.

    \b
    Examples:
      fleet ops --since 2h
      fleet ops --task parser -p web
      fleet ops --follow --json
    """
    with Fleet.open() as fleet:
        newest = fleet.operations.newest() if given["follow"] else FOREVER
        listed = fleet.operations.with_archived if given["archived"] else fleet.operations.list
        _print(listed(_which(fleet, given, until=newest), limit=given["limit"]), as_json=given["json"])
        if given["follow"]:
            more = fleet.operations.follow(_which(fleet, given), after=newest, wanted=terminal.has_reader)
            _print(more, as_json=given["json"])


def _which(fleet: Fleet, given: dict[str, Any], *, until: int = FOREVER) -> Which:
    named = given["project"] is not None or given["task"] is not None
    return Which(
        project=fleet.project_here(given["project"]) if named else None,
        slug=None if given["task"] is None else slug(given["task"]),
        dispatch=None if given["dispatch"] is None else DispatchId(given["dispatch"]),
        actor=given["actor"],
        since=_or(moment(given["since"], fleet, back=True), 0),
        before=_or(moment(given["until"], fleet, back=True), FOREVER),
        until=until,
    )


def _or(at: int | None, otherwise: int) -> int:
    return otherwise if at is None else at


@click.command("watch")
@click.argument("task", metavar="[SLUG]", required=False, type=Slug())
@click.option(
    "--after", type=click.IntRange(0, FOREVER), metavar="SEQ", help="begin after this sequence number (default: now)"
)
@click.option("-n", "--limit", type=COUNT, metavar="N", help="end after so many changes")
@reading
def watch(task: str | None, **given: Any) -> None:
    """Follow changes of tasks as they happen; Ctrl-C ends it. With --json: one object a line.

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
        changes = fleet.operations.follow(Which(project=project, slug=task), after=start, wanted=terminal.has_reader)
        _print(islice(changes, given["limit"]), as_json=given["json"])


def _print(operations: Iterable[OperationView], *, as_json: bool) -> None:
    for each in operations:
        terminal.say(jsontext.dumps(each) if as_json else _line(each))
        sys.stdout.flush()


def _line(operation: OperationView) -> str:
    reason = operation.what.get("reason") or operation.what.get("message") or ""
    more = terminal.paint(f"  {' '.join(str(reason).split())}", "dim") if reason else ""
    at = terminal.paint(operation.at, "dim")
    return f"{operation.seq:>6}  {at}  {operation.actor}  {operation.why}{more}"


COMMANDS = {"ops": ops, "task watch": watch}
