"""The commands `fleet job dlq list`, `show`, `retry` and `drop`: the dead-letter queue."""

from __future__ import annotations

import click

from fleet.api.fleet import Fleet
from fleet.model.text.sizes import counted
from fleet.model.text.times import utc
from fleet.surfaces.cli.options import json_option, writing_home_unkeyed
from fleet.surfaces.cli.ui import terminal

_JOB = click.argument("ident", metavar="JOB")
_ITEMS = click.argument("items", metavar="[ITEM]...", nargs=-1)
_ALL = click.option("--all", "everything", is_flag=True, help="every item in the queue")


@click.group("dlq")
def dlq() -> None:
    """Manage the dead-letter queue of a job: items that failed or could not be merged.

    \b
    fleet job dlq list @last
    fleet job dlq show @last 0c4e1b
    fleet job dlq retry @last --all
    """


@dlq.command("list")
@_JOB
@json_option
def list_(ident: str, *, json: bool) -> None:
    """List the items in the queue, and why they failed.

    \b
    Examples:
      fleet job dlq list @last
      fleet job dlq list 3f2a9c01 --json
    """
    with Fleet.open() as fleet:
        dead = fleet.jobs.dead_items(fleet.jobs.find(ident))
    if json:
        terminal.say_json(dead)
        return
    if not dead:
        terminal.say("the queue is empty")
        return
    rows = [(item.id, item.label, item.state, str(item.attempts), item.reason or "") for item in dead]
    for line in terminal.table(("ITEM", "LABEL", "STATE", "ATTEMPTS", "REASON"), rows):
        terminal.say(line)


@dlq.command("show")
@_JOB
@click.argument("item")
@json_option
def show(ident: str, item: str, *, json: bool) -> None:
    """Show one item with its history: every attempt and how it ended.

    \b
    Examples:
      fleet job dlq show @last 0c4e1b
    """
    with Fleet.open() as fleet:
        details = fleet.jobs.item(fleet.jobs.find(ident), item)
    if json:
        terminal.say_json(details)
        return
    terminal.say(f"{details.id}  {details.label}  {details.state}")
    for attempt in details.history:
        terminal.say(
            f"  attempt {attempt.attempt} ended {utc(attempt.ended_at or '')} ({attempt.where}), dispatch {attempt.dispatch or 'none'}"
        )
        for line in (attempt.reason or "").splitlines():
            terminal.say(f"    {line}")
    terminal.say(f"  what it printed: fleet job logs {details.job} {details.id}")


@dlq.command("retry")
@_JOB
@_ITEMS
@_ALL
@writing_home_unkeyed
def retry(ident: str, items: tuple[str, ...], *, everything: bool, json: bool, **given: str | None) -> None:
    """Put items back into the job as new ones; then `fleet resume JOB` runs them.

    \b
    Examples:
      fleet job dlq retry @last 0c4e1b
      fleet job dlq retry 3f2a9c01 --all
    """
    with Fleet.open(actor=given["as"]) as fleet:
        revived = fleet.jobs.retry(fleet.jobs.find(ident), items, everything=everything)
    if json:
        terminal.say_json(revived)
        return
    then = "its runner will run them" if revived.state == "running" else f"now: fleet resume {revived.job}"
    terminal.say(f"{counted(len(revived.items), 'item')} of job {revived.job} to be tried again; {then}")


@dlq.command("drop")
@_JOB
@_ITEMS
@_ALL
@writing_home_unkeyed
def drop(ident: str, items: tuple[str, ...], *, everything: bool, json: bool, **given: str | None) -> None:
    """Give items up and remove their worktrees. Commits stay on their branches; uncommitted work is kept in separate refs.

    \b
    Examples:
      fleet job dlq drop @last 0c4e1b
      fleet job dlq drop 3f2a9c01 --all
    """
    with Fleet.open(actor=given["as"]) as fleet:
        dropped = fleet.jobs.drop(fleet.jobs.find(ident), items, everything=everything)
    if json:
        terminal.say_json(dropped)
        return
    terminal.say(f"{counted(len(dropped.items), 'item')} of job {dropped.job} dropped")
    for line in dropped.left:
        terminal.say(f"  left: {line}")
