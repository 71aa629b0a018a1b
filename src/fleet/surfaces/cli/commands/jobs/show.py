"""fleet job list, show, logs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fleet.api.fleet import Fleet
from fleet.model.results.value import Value
from fleet.surfaces.cli.options import json_option, reading
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.model.results.jobs import ItemDetails, ItemView, JobDetails, JobView

_HEADS = ("JOB", "NAME", "PROJECT", "STATE", "DONE", "FAILED", "OF", "BEGUN", "REASON")
_ITEM_HEADS = ("ITEM", "LABEL", "STATE", "ATTEMPTS", "COMMIT", "REASON")


@click.command("list")
@reading
def list_(*, project: str | None, json: bool) -> None:
    """List jobs, newest first.

    \b
    Examples:
      fleet job list
      fleet job list -p web --json
    """
    with Fleet.open() as fleet:
        jobs = fleet.jobs.list(project)
    if json:
        terminal.say_json(jobs)
        return
    if not jobs:
        terminal.say("no jobs yet: `fleet job run FILE` runs one")
        return
    for line in terminal.table(_HEADS, [_row(job) for job in jobs]):
        terminal.say(line)


def _row(job: JobView) -> tuple[str, ...]:
    """Return a job as a row of the table."""
    counts = job.items
    state = "interrupted" if job.state == "running" and not job.runs else job.state
    numbers = (str(counts.done), str(counts.dead + counts.parked), str(counts.total))
    return (job.id, job.name, job.project, state, *numbers, job.begun_at, job.reason or "")


@click.command("show")
@click.argument("ident", metavar="JOB")
@click.argument("item", required=False)
@click.option("--items", "items", is_flag=True, help="list the job's items")
@click.option("--state", metavar="STATE", help="only items in this state")
@json_option
def show(ident: str, item: str | None, *, items: bool, state: str | None, json: bool) -> None:
    """Show a job, its items, or one item with its failures and steps. JOB is an id, the beginning of one, or @last.

    \b
    Examples:
      fleet job show @last
      fleet job show 3f2a9c01 --items --state dead
      fleet job show 3f2a9c01 0c4e1b --json
    """
    with Fleet.open() as fleet:
        job = fleet.jobs.find(ident)
        if item:
            _print_details(fleet.jobs.item(job, item), as_json=json)
        elif items or state:
            _print_items(fleet.jobs.items(job, state), as_json=json)
        else:
            _print_details(fleet.jobs.show(job), as_json=json)


def _print_items(items: Iterator[ItemView], *, as_json: bool) -> None:
    """Print the items of a job."""
    if as_json:
        terminal.say_json_list(items)
        return
    rows = [
        (item.id, item.label, item.state, str(item.attempts), (item.commit or "")[:12], item.reason or "")
        for item in items
    ]
    for line in terminal.table(_ITEM_HEADS, rows):
        terminal.say(line)


def _print_details(value: JobDetails | ItemDetails, *, as_json: bool) -> None:
    """Print a job or an item with all its fields."""
    if as_json:
        terminal.say_json(value)
        return
    for name, each in value.as_json().items():
        if isinstance(each, list):
            for inner in each:
                facts = (f"{key} {fact}" for key, fact in inner.as_json().items() if fact not in (None, "", []))
                terminal.say(f"  {name}: {', '.join(facts)}")
        elif each is not None:
            terminal.say(f"  {name:<11} {each.as_json() if isinstance(each, Value) else each}")


@click.command("logs")
@click.argument("ident", metavar="JOB")
@click.argument("item", required=False)
@json_option
def logs(ident: str, item: str | None, *, json: bool) -> None:
    """Print the output of the steps of one item, or of all items. With --json: one object per line.

    \b
    Examples:
      fleet job logs @last 0c4e1b
      fleet job logs 3f2a9c01 setup
    """
    with Fleet.open() as fleet:
        for output in fleet.jobs.logs(fleet.jobs.find(ident), item):
            if json:
                terminal.say_json(output)
            else:
                terminal.say(f"== {output.step}")
                sys.stdout.write(output.text if output.text.endswith("\n") else f"{output.text}\n")
