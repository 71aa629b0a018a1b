"""Show jobs: list them, and show one job, one item with its history, and the output of steps."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import FLEET_ITEM
from fleet.model.branches import job_branch
from fleet.model.results.jobs import (
    ItemDetails,
    ItemFailure,
    JobDetails,
    JobProcess,
    JobReport,
    JobView,
    StepDone,
    StepOutput,
)
from fleet.model.text.times import iso, iso_or_none
from fleet.resources.job_process import left_processes, runner_of
from fleet.store import queries as q
from fleet.verbs.homes.ownership import is_own
from fleet.verbs.jobs import records, results
from fleet.verbs.jobs.abandoned import has_runner
from fleet.verbs.jobs.begin import shown_parameters
from fleet.verbs.jobs.engine_wait import wait_of_job
from fleet.verbs.jobs.items.own_processes import open_claims
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.model.results.jobs import ItemView
    from fleet.store.queries import Item, Job, JobStep
    from fleet.verbs.context import Context

# How many jobs are listed, and how many are named when a name fits several.
_MOST = 1_000
_FEW = 5


def find_job(context: Context, given: str) -> str:
    """Return the id of the job that `given` names: an id, the beginning of one, or @last. Raises NoSuchJob or Ambiguous."""
    if given == "@last":
        ids = [row.id for row in context.store.read(lambda rows: q.listed_jobs(rows, project=None, most=1))]
    else:
        prefix = f"{given if given.isalnum() else '-'}%"
        ids = [row.id for row in context.store.read(lambda rows: q.jobs_like(rows, prefix=prefix, most=_FEW))]
    if not ids:
        raise errors.NoSuchJob(job=given)
    if len(ids) > 1:
        raise errors.Ambiguous(given=given, candidates=", ".join(ids))
    return ids[0]


def find_item(context: Context, job: str, given: str) -> Item:
    """Return the item that `given` names: an id or the beginning of one. Raises NoSuchItem or Ambiguous."""
    text = given if given.replace("-", "").isalnum() else "-"
    exact = context.store.read(lambda rows: q.item_by_id(rows, job=job, id=text))
    if exact is not None:
        return exact
    alike = context.store.read(lambda rows: q.items_like(rows, job=job, prefix=f"{text}%", most=_FEW))
    if not alike:
        raise errors.NoSuchItem(job=job, item=given)
    if len(alike) > 1:
        raise errors.Ambiguous(given=given, candidates=", ".join(row.id for row in alike))
    return alike[0]


def jobs(context: Context, project: str | None) -> list[JobView]:
    """Return the jobs of a project, or of all projects (None), newest first, at most 1000."""
    rows = context.store.read(lambda snapshot: q.listed_jobs(snapshot, project=project, most=_MOST))
    return [_job_view(context, row) for row in rows]


def unfinished_jobs(context: Context) -> list[JobView]:
    """Return the jobs of all projects that are running, paused or failed, newest first, at most 1000."""
    return [_job_view(context, row) for row in context.store.read(lambda rows: q.unfinished_jobs(rows, most=_MOST))]


def job(context: Context, ident: str) -> JobDetails:
    """Return one job with its parameters, the paths of its reports and its running processes. Raises NoSuchJob."""
    row = context.store.read(lambda rows: records.job_of(rows, ident))
    return JobDetails.made_of(
        _job_view(context, row),
        parameters=shown_parameters(row.source, json.loads(row.parameters)),
        report=JobReport(html=_report_path(context, ident, "html"), md=_report_path(context, ident, "md")),
        processes=_job_processes(context, ident),
    )


def _report_path(context: Context, ident: str, kind: str) -> str | None:
    """Return the path of a job's report; None when the report is not written yet."""
    path = f"{context.world.home}/{paths.job(ident, f'report.{kind}')}"
    return path if os.path.exists(path) else None


def _job_processes(context: Context, ident: str) -> list[JobProcess]:
    """Return the running processes that runners of the job started themselves, also runners that are dead.

    Those of another home or host are left out: they cannot be seen here.
    """
    world, running = context.world, []
    for claim in open_claims(context, ident):
        here = is_own(context, claim)
        runner = world.processes.life(runner_of(claim)) if here else "unknown"
        for who in left_processes(claim, world) if here else ():
            item = world.processes.variable(who, FLEET_ITEM) or None
            running.append(JobProcess(pid=who.pid, item=item, runner=runner))
    return running


def _job_view(context: Context, row: Job) -> JobView:
    """Return a job as people and programs read it: with counts, branch, and whether a runner runs it."""
    return JobView.made_of(
        row,
        items=results.count(context, row.id),
        branch=job_branch(row.id),
        added_at=iso(row.added_at),
        begun_at=iso(row.begun_at),
        ended_at=iso_or_none(row.ended_at),
        runs=row.state == "running" and has_runner(context, row.id),
        waits=wait_of_job(context, row),
    )


def items_of_job(context: Context, ident: str, state: str | None = None) -> Iterator[ItemView]:
    """Yield the items of a job in their order; only those in `state` when it is given."""
    return (results.item_view(row) for row in results.each_item(context, ident, state))


def item(context: Context, ident: str, given: str) -> ItemDetails:
    """Return one item of the job `ident` with its failures and its steps, those of all attempts.

    `given` is the item's id or the beginning of it. Raises NoSuchItem or Ambiguous.
    """
    row = find_item(context, ident, given)
    steps = context.store.read(lambda rows: q.steps_of_item(rows, job=ident, item=row.id))
    return ItemDetails.made_of(
        results.item_view(row), job=ident, history=_item_failures(row), steps=[_step_view(each) for each in steps]
    )


def _item_failures(row: Item) -> list[ItemFailure]:
    """Return the failed attempts of an item, with their times as text."""
    times = ("started_at", "ended_at")
    failures = json.loads(row.history)
    return [ItemFailure.from_json(each | {name: iso_or_none(each[name]) for name in times}) for each in failures]


def _step_view(row: JobStep) -> StepDone:
    """Return a step as people and programs read it."""
    times = {"started_at": iso(row.started_at), "ended_at": iso(row.ended_at)}
    return StepDone.made_of(row, **times, commits=json.loads(row.commits))


def logs(context: Context, ident: str, given: str | None) -> Iterator[StepOutput]:
    """Yield the output files of each step of one item; of all items when `given` is None.

    `given` is the item's id or the beginning of it. Empty output files were removed when their step ended.
    """
    wanted = find_item(context, ident, given).id if given else None
    for name in sorted(context.world.files.names(paths.job_step(ident)), key=_sort_key):
        mine = name.partition(".")[0]
        if name.endswith((".log", ".out")) and wanted in {None, mine}:
            path = paths.job_step(ident, name)
            text = context.world.files.read(path).decode("utf-8", "replace")
            yield StepOutput(step=name.rpartition(".")[0], text=text)


def _sort_key(name: str) -> tuple[str, int, int]:
    """Return the item, attempt and step number in an output file's name, by which files are sorted."""
    item_name, attempt, number, *_rest = [*name.split("."), "0", "0"]
    return item_name, int(attempt) if attempt.isdigit() else 0, int(number) if number.isdigit() else 0
