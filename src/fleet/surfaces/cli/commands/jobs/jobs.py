"""The commands `fleet job run`, `cancel`, `validate`, `schema` and the hidden `step`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.agents.jobs import job_schema, validate_job
from fleet.api.fleet import Fleet
from fleet.model.jobs.items import STATES
from fleet.surfaces.cli.commands.jobs import progress
from fleet.surfaces.cli.commands.jobs.dead_letters import dlq
from fleet.surfaces.cli.commands.jobs.show import list_, logs, show
from fleet.surfaces.cli.hot import session
from fleet.surfaces.cli.options import json_option, writing_home_unkeyed
from fleet.surfaces.cli.ui import terminal
from fleet.verbs.jobs.begin import JobRequest

if TYPE_CHECKING:
    from fleet.model.results.jobs import JobCancelled, JobEnded, JobPlan

_FAILED = 1


@click.group("job")
def job() -> None:
    """Run jobs: the same steps for many items.

    \b
    fleet job run modernise.yml
    fleet job list
    fleet job show @last
    fleet job dlq list @last
    """


@job.command("run")
@click.argument("file", type=click.Path())
@click.option("--id", "ident", metavar="ID", help="the job's id, 8 hexadecimal digits; an existing job is run again")
@click.option("--set", "pairs", metavar="NAME=VALUE", multiple=True, help="the value of {env.NAME}")
@click.option("--dry-run", is_flag=True, help="check the file and print what would be done")
@click.option(
    "-p", "--project", metavar="NAME", help="the project (default: FLEET_PROJECT, or the one of the current directory)"
)
@writing_home_unkeyed
def run(
    file: str,
    ident: str | None,
    pairs: tuple[str, ...],
    *,
    dry_run: bool,
    project: str | None,
    json: bool,
    **given: str | None,
) -> int:
    """Run a job from its file, in this terminal, until it ends. After Ctrl-C it can be resumed.

    Each item gets a worktree, a branch and a dispatch of its own; finished items are merged into the branch fleet/job-ID. Your
    checkout is not touched. With --json: one object per line for each change, and the job at the end.

    \b
    Examples:
      fleet job run modernise.yml
      fleet job run modernise.yml --set LEVEL=high --dry-run
      fleet job run modernise.yml --id 3f2a9c01 --json
    """
    with Fleet.open(actor=given["as"]) as fleet, progress.StopOnSignal() as keep_running:
        variables = dict(_parse_pair(pair) for pair in pairs)
        asked = JobRequest(project=fleet.project_here(project), file=file, id=ident, variables=variables)
        if dry_run:
            return _print_plan(fleet.jobs.plan(asked), as_json=json)
        return _print_end(fleet, fleet.jobs.run(asked, progress.choose_view(as_json=json), keep_running), as_json=json)


def resume_job(ident: str, *, force: bool, actor: str | None, as_json: bool) -> int:
    """Run the unfinished items of a job in this process, for `fleet resume`. Returns the exit code.

    `force` first stops the process that runs the job.
    """
    with Fleet.open(actor=actor) as fleet, progress.StopOnSignal() as keep_running:
        ended = fleet.jobs.resume(ident, progress.choose_view(as_json=as_json), keep_running, force=force)
        if ended.stopped and not as_json:
            terminal.say(f"stopped the runner of this job: {ended.stopped}")
        return _print_end(fleet, ended, as_json=as_json)


def _parse_pair(given: str) -> tuple[str, str]:
    """Return the name and the value of NAME=VALUE. Raise BadInput for another form."""
    name, sign, value = given.partition("=")
    if not sign or not name:
        raise errors.BadInput(what=f"--set {given!r}: write NAME=VALUE")
    return name, value


def _print_plan(plan: JobPlan, *, as_json: bool) -> int:
    """Print the plan of a job for `fleet job run --dry-run`; return exit code 0."""
    if as_json:
        terminal.say_json(plan)
        return 0
    terminal.say(f"{plan.name} in {plan.project}: items from a {plan.source}, {plan.max_parallel} at once,")
    terminal.say(f"  isolation {plan.isolation}, {plan.attempts} attempts each, then {plan.on_failure}")
    for part, steps in plan.steps.items():
        for number, step in enumerate(steps, 1):
            terminal.say(f"  {part} {number}: {step}")
    return 0


def _print_end(fleet: Fleet, job: JobEnded, *, as_json: bool) -> int:
    """Print how a job ended and what to do next. Returns 0 when it is done and each item is done or skipped, else 1."""
    well = job.state == "done" and job.items.done + job.items.skipped == job.items.total
    if as_json:
        sys.stdout.flush()
        terminal.say_json(job)
        return 0 if well else _FAILED
    terminal.say(_job_sentence(job))
    terminal.say(f"  branch: {job.branch}   report: {fleet.jobs.show(job.id).report.html}")
    if job.state in {"paused", "failed"}:
        terminal.say(f"  continue: fleet resume {job.id}   give up: fleet job cancel {job.id}")
    if job.items.dead or job.items.parked:
        terminal.say(f"  what failed: fleet job dlq list {job.id}")
    return 0 if well else _FAILED


def _job_sentence(job: JobEnded | JobCancelled) -> str:
    """Return a job's state and the counts of its items as a sentence."""
    states = ", ".join(job.items.in_words(STATES))
    reason = f": {job.reason}" if job.reason else ""
    return f"job {job.id} ({job.name}) is {job.state}{reason}; of {job.items.total} items {states or 'none'}"


@job.command("cancel")
@click.argument("ident", metavar="JOB")
@click.option(
    "-r", "--reason", default="cancelled by a person", metavar="TEXT", help="the reason, for those who read it later"
)
@writing_home_unkeyed
def cancel(ident: str, reason: str, *, json: bool, **given: str | None) -> None:
    """End a job for good: its agents are ended and its worktrees removed. Commits and the job's branch are kept.

    \b
    Examples:
      fleet job cancel 3f2a9c01
      fleet job cancel @last --reason "wrong input"
    """
    with Fleet.open(actor=given["as"]) as fleet:
        cancelled = fleet.jobs.cancel(fleet.jobs.find(ident), reason)
    if json:
        terminal.say_json(cancelled)
        return
    terminal.say(_job_sentence(cancelled))
    if cancelled.runner:
        terminal.say(f"  its runner ({cancelled.runner}) is ending it")
    for line in cancelled.left:
        terminal.say(f"  left: {line}")


@job.command("validate")
@click.argument("file", type=click.Path())
@json_option
def validate(file: str, *, json: bool) -> int:
    """Check a job file and print every fault with its line and column.

    \b
    Examples:
      fleet job validate modernise.yml
      fleet job validate modernise.yml --json
    """
    validation = validate_job(file)
    if json:
        terminal.say_json(validation)
    elif validation.valid:
        terminal.say(f"{file} is valid")
    else:
        for fault in validation.faults:
            terminal.say(f"{file}:{fault.line}:{fault.column}: {fault.why} — {fault.advice}")
    return 0 if validation.valid else errors.BadInput.code


@job.command("schema")
@json_option
def schema(**_given: bool) -> None:
    """Print the JSON Schema of job files, for editors that complete and check them.

    \b
    Examples:
      fleet job schema > job.schema.json
    """
    terminal.say_json(job_schema())


@job.command("step", hidden=True)
def step() -> int:
    """Run the steps of an item. The session of a job's item calls this."""
    return session.step()


for command in (list_, show, logs, dlq):
    job.add_command(command)
COMMANDS = {"job": job}
