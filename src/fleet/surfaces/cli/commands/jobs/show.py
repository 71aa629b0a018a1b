"""The commands `fleet job list`, `show` and `logs`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fleet.api.fleet import Fleet
from fleet.api.views.sections import job_in_words
from fleet.model.text.sizes import counted
from fleet.model.text.times import utc
from fleet.surfaces.cli.commands.jobs.progress import STATES
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
    for line in terminal.table(_HEADS, [_job_row(job) for job in jobs]):
        terminal.say(line)


def _job_row(job: JobView) -> tuple[str, ...]:
    """Return a job as a row of the table."""
    counts = job.items
    numbers = (str(counts.done), str(counts.dead + counts.parked), str(counts.total))
    return (
        job.id,
        job.name,
        job.project,
        job_in_words(job),
        *numbers,
        utc(job.begun_at),
        job.reason or job.waits or "",
    )


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
            _print_item(fleet.jobs.item(job, item), as_json=json)
        elif items or state:
            _print_items(fleet.jobs.items(job, state), as_json=json)
        else:
            _print_job(fleet.jobs.show(job), as_json=json)


def _print_items(items: Iterator[ItemView], *, as_json: bool) -> None:
    """Print the items of a job, as a table or as JSON."""
    if as_json:
        terminal.say_json_list(items)
        return
    rows = [
        (item.id, item.label, item.state, str(item.attempts), (item.commit or "")[:12], item.reason or "")
        for item in items
    ]
    for line in terminal.table(_ITEM_HEADS, rows):
        terminal.say(line)


def _print_job(job: JobDetails, *, as_json: bool) -> None:
    """Print a job: its state as a sentence, then its facts, then the command that continues it; or all as JSON."""
    if as_json:
        terminal.say_json(job)
        return
    why = f": {job.reason or job.waits}" if job.reason or job.waits else ""
    terminal.say(f"job {job.id} ({job.name}) of {job.project} is {job_in_words(job)}, phase {job.phase}{why}")
    begun = f"{utc(job.begun_at)}, by {job.actor}"
    facts = {
        "items": ", ".join([f"{job.items.total} in all", *job.items.in_words(STATES)]),
        "branch": job.branch,
        "begun": begun if job.begun_at == job.added_at else f"{begun}; first {utc(job.added_at)}",
        "ended": utc(job.ended_at) if job.ended_at else "",
        "parameters": ", ".join(f"{name}={value}" for name, value in job.parameters.items()),
        "report": job.report.html or "",
    }
    _print_facts(facts)
    for each in job.processes:
        terminal.say(f"  process     pid {each.pid}, item {each.item or 'unknown'}, runner {each.runner}")
    if job.items.dead:
        terminal.say(f"  what failed: fleet job dlq list {job.id}")
    if job.state in {"paused", "failed"} or (job.state == "running" and not job.runs):
        terminal.say(f"  continue: fleet resume {job.id}   end: fleet job cancel {job.id}")


def _print_item(item: ItemDetails, *, as_json: bool) -> None:
    """Print one item of a job: its state as a sentence, its facts, its steps and its failures; or all as JSON."""
    if as_json:
        terminal.say_json(item)
        return
    why = f": {item.reason}" if item.reason else ""
    attempts = counted(item.attempts, "attempt")
    terminal.say(f"item {item.id} ({item.label}) of job {item.job} is {item.state} after {attempts}{why}")
    facts = {
        "commit": (item.commit or "")[:12],
        "agent": item.dispatch or "",
        "next try": utc(item.not_before) if item.not_before else "",
        "started": utc(item.started_at) if item.started_at else "",
        "ended": utc(item.ended_at) if item.ended_at else "",
    }
    _print_facts(facts)
    for step in item.steps:
        end = "killed" if step.status is None else f"exit status {step.status}"
        terminal.say(f"  attempt {step.attempt}, step {step.number}: {step.title}: {end}, ended {utc(step.ended_at)}")
    for failure in item.history:
        terminal.say_message(f"  attempt {failure.attempt} failed at {failure.where}: ", failure.reason)


def _print_facts(facts: dict[str, str]) -> None:
    """Print the facts about a job that have a value, one on each line."""
    for name, fact in facts.items():
        if fact:
            terminal.say(f"  {name:<11} {fact}")


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
