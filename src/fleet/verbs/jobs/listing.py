"""Looking at jobs: which there are, how one stands, one item with its history, and what its steps printed."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from fleet.errors.absent import NoSuchItem, NoSuchJob
from fleet.errors.given import Ambiguous
from fleet.model.jobs import items
from fleet.model.jobs.workflow import read
from fleet.model.text.secrets import HIDDEN
from fleet.model.text.times import iso, iso_or_none
from fleet.resources.job_process import left_processes, runner_of
from fleet.store import queries as q
from fleet.verbs.homes.ownership import is_own
from fleet.verbs.jobs import records, results
from fleet.verbs.jobs.abandoned import has_runner
from fleet.verbs.jobs.items.own_processes import open_claims
from fleet.verbs.jobs.run import summary
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.store.queries import Item, Job
    from fleet.verbs.context import Context

_MOST = 1_000
_FEW = 5


def find_job(context: Context, given: str) -> str:
    """The job that is meant: its id, the beginning of one, or @last."""
    if given == "@last":
        newest = context.store.read(lambda rows: q.listed_jobs(rows, project=None, most=1))
        found = [row.id for row in newest]
    else:
        plain = given if given.isalnum() else "-"
        rows = context.store.read(lambda snapshot: q.jobs_like(snapshot, prefix=f"{plain}%", most=_FEW))
        found = [row.id for row in rows]
    if not found:
        raise NoSuchJob(job=given)
    if len(found) > 1:
        raise Ambiguous(given=given, candidates=", ".join(found))
    return str(found[0])


def find_item(context: Context, job: str, given: str) -> Item:
    """The item that is meant: its id or the beginning of one."""
    plain = given if given.replace("-", "").isalnum() else "-"
    exact = context.store.read(lambda rows: q.item_by_id(rows, job=job, id=plain))
    if exact is not None:
        return exact
    found = context.store.read(lambda rows: q.items_like(rows, job=job, prefix=f"{plain}%", most=_FEW))
    if not found:
        raise NoSuchItem(job=job, item=given)
    if len(found) > 1:
        raise Ambiguous(given=given, candidates=", ".join(row.id for row in found))
    return context.store.read(lambda rows: q.item_by_id(rows, job=job, id=found[0].id)) or {}


def jobs(context: Context, project: str | None) -> list[dict[str, Any]]:
    """Jobs, newest first."""
    rows = context.store.read(lambda snapshot: q.listed_jobs(snapshot, project=project, most=_MOST))
    return [_document(context, row) for row in rows]


def job(context: Context, ident: str) -> dict[str, Any]:
    """One job: how it stands, and where its report is."""
    row = context.store.read(lambda rows: records.job_of(rows, ident))
    folder = f"{context.world.home}/{paths.job(ident)}"
    reports = {kind: f"{folder}/report.{kind}" for kind in ("html", "md")}
    there = {kind: path if os.path.exists(path) else None for kind, path in reports.items()}
    more = {
        "parameters": shown_parameters(row.source, row.parameters),
        "report": there,
        "processes": _processes(context, ident),
    }
    return _document(context, row) | more


def _processes(context: Context, ident: str) -> list[dict[str, Any]]:
    """What runners of the job started themselves and runs now; a dead runner's too."""
    world, found = context.world, []
    for claim in open_claims(context, ident):
        here = is_own(context, claim)
        runner = world.processes.life(runner_of(claim)) if here else "unknown"
        for who in left_processes(claim, world) if here else ():
            item = world.processes.variable(who, "FLEET_ITEM") or None
            found.append({"pid": who.pid, "item": item, "runner": runner})
    return found


def shown_parameters(source: str, parameters: str) -> dict[str, str]:
    """What {env.NAME} stands for, as it is shown: what was handed over and does not stand in the document is a secret."""
    written = read(source, "the job's document").env
    told: dict[str, str] = json.loads(parameters)
    return {name: value if written.get(name) == value else HIDDEN for name, value in told.items()}


def _document(context: Context, row: Job) -> dict[str, Any]:
    times = {
        "added_at": iso(row.added_at),
        "begun_at": iso(row.begun_at),
        "ended_at": iso_or_none(row.ended_at),
    }
    return (
        summary(context, row)
        | times
        | {"actor": row.actor, "runs": row.state == "running" and has_runner(context, row.id)}
    )


def listed(context: Context, ident: str, state: str | None = None) -> Iterator[dict[str, Any]]:
    """The items of a job, in their order."""
    return (item_document(row) for row in results.pages(context, ident, state))


def item_document(row: Item) -> dict[str, Any]:
    """An item as programs see it."""
    keep = ("id", "number", "state", "attempts", "dispatch", "reason", "signature")
    times = {name: iso_or_none(row[name]) for name in ("not_before", "started_at", "ended_at")}
    data = json.loads(row.data)
    return {name: row[name] for name in keep} | times | {"label": items.label(data), "item": data, "commit": row.merged}


def item(context: Context, ident: str, given: str) -> dict[str, Any]:
    """One item with its failures and its steps."""
    row = find_item(context, ident, given)
    steps = context.store.read(lambda rows: q.steps_of_item(rows, job=ident, item=row.id))
    history = [_with_times(each) for each in json.loads(row.history)]
    shown = [
        {name: step[name] for name in ("attempt", "number", "title", "status", "reason")}
        | {
            "started_at": iso(step.started_at),
            "ended_at": iso(step.ended_at),
            "commits": json.loads(step.commits),
        }
        for step in steps
    ]
    return item_document(row) | {"job": ident, "history": history, "steps": shown}


def _with_times(each: dict[str, Any]) -> dict[str, Any]:
    return each | {name: iso_or_none(each[name]) for name in ("started_at", "ended_at")}


def logs(context: Context, ident: str, given: str | None) -> Iterator[tuple[str, str]]:
    """What steps printed: of one item, or of all that were tried."""
    wanted = find_item(context, ident, given).id if given else None
    for name in sorted(context.world.files.names(paths.job_step(ident)), key=_order):
        mine = name.partition(".")[0]
        if name.endswith((".log", ".out")) and wanted in {None, mine}:
            path = paths.job_step(ident, name)
            yield name.rpartition(".")[0], context.world.files.read(path).decode("utf-8", "replace")


def _order(name: str) -> tuple[str, int, int]:
    item_name, attempt, number, *_rest = [*name.split("."), "0", "0"]
    return item_name, int(attempt) if attempt.isdigit() else 0, int(number) if number.isdigit() else 0
