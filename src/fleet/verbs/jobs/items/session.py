"""Run one item in its own tmux session: its steps one after another, then the report."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import head_ref, job_branch, task_ref
from fleet.model.jobs import items
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.jobs import records, results
from fleet.verbs.jobs.items import run_step
from fleet.world.git.nested.keep_uncommitted import keep_dirty
from fleet.world.process.job_commands import CommandEnd

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.states import ItemVerdict, ReportState
    from fleet.store.queries import Item, Job
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.verbs.jobs.items.run_step import StepResult, Where
    from fleet.world.process.job_commands import JobCommand

    ShowOutput = Callable[[str], None]

# Seconds between two looks at a running step, and how many bytes of its output are shown at once.
_LOOK_AGAIN = 0.05
_CHUNK = 65_536


def perform(context: Context, dispatch: str, project: str, slug: str, show: ShowOutput) -> bool:
    """Run all steps of the item that a dispatch is for, and record the verdict. Returns whether the item passed.

    `show` is called with the output of the steps, as text. Raises, before any step, NoSuchItem when the task is no
    item's, and Superseded when another dispatch has the attempt or the attempt has a verdict already.
    """
    known = context.store.read(lambda rows: q.item_of_task(rows, project=project, slug=slug))
    if known is None:
        raise errors.NoSuchItem(job="(none)", item=slug)
    job = context.store.read(lambda rows: records.job_of(rows, known.job))
    item = _take_item(context, job, known, dispatch)
    where = run_step.Where(home=context.world.home, job=job.id, project=project, item=item.id, attempt=item.attempts,
                        cwd=os.getcwd(), folder=job.folder, dispatch=dispatch)  # fmt: skip
    if item.attempts > 1:
        _start_over(context, job, slug, where, show)
    at, result = _run_steps(context, job, item, where, show)
    context.commit(_report(job, item, dispatch, at, result))
    return result.ok


def _take_item(context: Context, job: Job, item: Item, dispatch: str) -> Item:
    """Record this dispatch in the item and return the item.

    Raises Superseded when another dispatch has this attempt, or when the item has a verdict or does not run any more.
    """
    context.commit(records.set_dispatch(job, item.id, dispatch))
    now = context.store.read(lambda rows: q.item_by_id(rows, job=job.id, id=item.id))
    if now is not None and (now.state, now.dispatch, now.verdict) == ("running", dispatch, None):
        return now
    state, holder = (now.state, now.dispatch) if now else ("gone", None)
    slug = items.slug(job.id, item.id)
    why = f"item {item.id} is {state}, with {holder or 'nobody'}"
    raise errors.Superseded(who=f"dispatch {dispatch}", project=job.project, slug=slug, now=why)


def _start_over(context: Context, job: Job, slug: str, where: Where, show: ShowOutput) -> None:
    """Reset the item's worktree to the tip of the job's branch; do nothing when that branch is missing.

    Work that an earlier attempt left there is first kept in a ref.
    """
    repository, git = context.project(job.project).path, context.world.git
    tip = git.resolve(repository, head_ref(job_branch(job.id)))
    if tip is None:
        return
    mine = git.commits(repository, tip, task_ref(slug))
    if git.is_dirty(where.cwd) is not False or mine != []:
        show(f"what the attempt before left is {keep_dirty(git, repository, where.cwd, slug)}\n")
    git.start_over(where.cwd, tip)


def _run_steps(context: Context, job: Job, item: Item, where: Where, show: ShowOutput) -> tuple[str, StepResult]:
    """Run the item's steps in order until one fails.

    Returns the name of the failed step, such as "map step 2" (when none failed, the name of the part, such as "map"),
    and the result of the last step that ran.
    """
    part, every = item.part, run_step.read_steps(context, job)
    data = results.map_values(context, job) if part == "reduce" else json.loads(item.data)
    values = run_step.values_of(context, job, every, part, data)
    steps = every.of(part)
    result = run_step.StepResult(ok=True, status=0, reason="")
    for number, step in enumerate(steps, 1):
        show(f"[{number}/{len(steps)}] {step.title}\n")
        result = _run_one_step(context, job, run_step.StepRun(context, step, number, where, values), show)
        if not result.ok:
            show(f"[{number}/{len(steps)}] failed: {result.reason.splitlines()[0]}\n")
            return f"{part} step {number}", result
    return part, result


def _run_one_step(context: Context, job: Job, run: run_step.StepRun, show: ShowOutput) -> StepResult:
    """Run one step, show its output, and record the step."""
    child = run.start()
    result, row = run.conclude(child if isinstance(child, CommandEnd) else _watch(child, run.files, show))
    context.commit(run_step.record_step(job, row))
    return result


def _watch(child: JobCommand, files: list[str], show: ShowOutput) -> CommandEnd:
    """Show a step's output until the step ends; return how it ended."""
    shown = dict.fromkeys(files, 0)
    while True:
        ended = child.look()
        for path in files:
            shown[path] = _show_more(path, shown[path], show)
        if ended is not None:
            return ended
        child.wait(_LOOK_AGAIN)


def _show_more(path: str, since: int, show: ShowOutput) -> int:
    """Show what a step's output file has after the offset `since` (in bytes). Returns the offset at its end."""
    if not os.path.exists(path):
        return since
    with open(path, "rb") as file:
        file.seek(since)
        while chunk := file.read(_CHUNK):
            show(chunk.decode("utf-8", "replace"))
        return file.tell()


def _report(job: Job, item: Item, dispatch: str, at: str, result: StepResult) -> Change[None]:
    """Return the change that records the item's verdict and the dispatch's report in one transaction.

    `at` names the failed step, such as "map step 2", and begins the recorded reason.
    """
    verdict: ItemVerdict = "passed" if result.ok else "failed"
    reason = None if result.ok else f"{at}: {result.reason}"
    alike = None if result.ok else items.signature(at, result.reason, json.loads(item.data))
    alike = items.LIMIT if result.limit else alike

    def work(tx: Tx) -> None:
        tx.about(job.project, items.slug(job.id, item.id))
        tx.dispatch = dispatch
        q.judge_item(tx, job=job.id, id=item.id, verdict=verdict, reason=reason, signature=alike, dispatch=dispatch)
        first = reason.splitlines()[0] if reason else None
        report: ReportState = "done" if result.ok else "failed"
        q.report_dispatch(tx, id=dispatch, report=report, reason=first, work=None, at=tx.at)
        tx.note(job=job.id, item=item.id, verdict=verdict, reason=reason)

    return Change(f"job {job.id}: {item.id} {verdict}", work)
