"""Run a job in one process: start its items, settle them, merge them.

The runner keeps its state in the store. When a runner is killed, the next one finds every item in a state that says
what to do with it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import job_branch
from fleet.model.dispatch.steps import INTERRUPTED
from fleet.model.jobs import items
from fleet.model.jobs.workflow import read
from fleet.model.results.jobs import JobEnded
from fleet.model.text.times import SECOND
from fleet.store import queries as q
from fleet.verbs.jobs import records, results
from fleet.verbs.jobs.engine_wait import EngineWait
from fleet.verbs.jobs.items import attempts, inputs, item_outcome, merge_item, run_step
from fleet.verbs.jobs.items.in_place import InPlace
from fleet.verbs.jobs.items.item_outcome import ItemAttempt
from fleet.verbs.jobs.items.own_processes import OwnProcesses, end_leftovers
from fleet.verbs.jobs.progress import ProgressReporter
from fleet.verbs.jobs.report import write_report
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.jobs.workflow import Workflow
    from fleet.model.states import JobPart, JobState
    from fleet.store.queries import Item, Job
    from fleet.verbs.context import Context
    from fleet.verbs.jobs.progress import Tell

    StillWanted = Callable[[], bool]

# Seconds between two looks at the items: the longest pause, the shortest, and the one while no item may start.
_LOOK_AGAIN = 0.15
_LOOK_SOON = 0.004
_LOOK_LATER = 1.0


class _Halt(Exception):
    """Raised to stop the runner; the job is then paused, or stays cancelled."""


def run_to_end(context: Context, ident: str, tell: Tell, wanted: StillWanted) -> JobEnded:
    """Run a job until it is done, paused, failed or cancelled, and write its report. The caller holds the job's gate.

    `tell` is called with each event of progress. The job pauses when `wanted` returns False. `left` of the result says
    what could not be removed, and why. Raises NoSuchJob, Refused for a job that is done or cancelled already, and
    errors of the store. Any other FleetError in a phase of the job makes the job fail.
    """
    context.commit(records.begin(ident))
    job = context.store.read(lambda rows: records.job_of(rows, ident))
    workflow = read(job.source, f"the document of job {ident}")
    run_step.write_steps(context, job, workflow.steps)
    runner = Runner(context, job, workflow, tell, wanted)
    state, reason = runner.run()
    left = runner.left + runner.tidy(over=state == "done")
    context.commit(records.end(ident, state, reason))
    job = context.store.read(lambda rows: records.job_of(rows, ident))
    if job.state == "cancelled":
        for row in context.store.read(lambda rows: q.items_at_work(rows, job=ident)):
            attempts.stop(context, job, row)
        left = runner.left + release_all(context, job)
    write_report(context, job)
    runner.progress.tell_counts(now=True)
    runner.progress.tell_job(job)
    return JobEnded.made_of(job, items=results.count(context, ident), branch=job_branch(ident), left=left)


def release_all(context: Context, job: Job) -> list[str]:
    """End and archive the tasks of a cancelled job's items as abandoned, and remove their worktrees.

    Uncommitted work is kept in refs. An item on which an attempt still works is left as it is. Returns what could not
    be removed, and why.
    """
    place = {"project": job.project, "job": job.id}
    left = []
    for row in context.store.read(lambda rows: q.open_tasks_of_job(rows, **place)):
        item = row.slug.removeprefix(items.slug(job.id, ""))
        left += merge_item.release_item(context, job, item, status="abandoned", reason=f"job {job.id} was cancelled")
    return left


class Runner:
    """The runner of one job: a loop that starts, settles and merges its items."""

    def __init__(self, context: Context, job: Job, workflow: Workflow, tell: Tell, wanted: StillWanted) -> None:
        self._context = context
        self._job = job
        self._workflow = workflow
        self._wanted = wanted
        self._in_place: InPlace | None = None
        self._own = OwnProcesses(context, job)
        # The processes that this runner started and could not end, in words.
        self.left: list[str] = []
        # The items that passed and whose attempts are not reclaimed yet; of these, the ones that are merged.
        self._passed: list[str] = []
        self._merged: list[str] = []
        self._patience = _LOOK_SOON
        self._engines = EngineWait(context, job, workflow)
        self.progress = ProgressReporter(context, job.id, tell)

    def run(self) -> tuple[JobState, str | None]:
        """Run all phases, and end the processes that this runner started. Return the job's end state and the reason.

        "done" has no reason (None). "paused" is also returned for a cancelled job, which stays cancelled. An error of
        the store is raised; any other FleetError makes the job "failed".
        """
        try:
            self._run_phases()
        except _Halt as halt:
            return "paused", str(halt)
        except (errors.StoreError, errors.StoreBusy):
            raise  # the store cannot record the failure either
        except errors.FleetError as error:
            why = error.facts.get("why") if isinstance(error, errors.JobFailed) else None
            return "failed", str(why or error)
        finally:
            try:
                self._stop_in_place()
            finally:
                self.left = self._own.release()
        return "done", None

    def _run_phases(self) -> None:
        """Run setup, map and reduce, beginning with the phase that the job is in."""
        self.progress.tell_job(self._job)
        end_leftovers(self._context, self._job.id)
        merge_item.ensure_branch(self._context, self._job)
        self.tidy(over=False)
        if self._job.phase == "setup":
            self._run_part("setup")
            self._read_input()
        while self._job.phase == "map":
            self._run_map()
        if self._job.phase == "reduce":
            results.write_results(self._context, self._job)
            self._run_part("reduce")
            self._step_phase("close")

    def _step_phase(self, event: str) -> None:
        """Record the phase that `event` leads to, and report it as progress."""
        self._context.commit(records.step_phase(self._job.id, self._job.phase, event))
        self._job = self._read_job()
        self.progress.tell_job(self._job)

    def _read_job(self) -> Job:
        """Return the job's row as it is now."""
        return self._context.store.read(lambda rows: records.job_of(rows, self._job.id))

    def _read_input(self) -> None:
        """Read the items of the input and record them, which ends the setup phase. Raises what `items_of` raises."""
        where = run_step.Where(home=self._context.world.home, job=self._job.id, project=self._job.project, item="input",
                            attempt=1, cwd=self._setup_worktree(), folder=self._job.folder, own=True)  # fmt: skip
        values = run_step.values_of(self._context, self._job, self._workflow.steps, "input", None)
        try:
            contents = inputs.items_of(
                self._context, self._workflow, where, values, inputs.InputCommandContext(self._own, self._check_wanted)
            )
        finally:
            self._own.release()
        self._context.commit(records.add_items(self._job.id, contents))
        del contents
        self._job = self._read_job()
        self.tidy(over=False)
        self.progress.tell_counts(now=True)

    def _setup_worktree(self) -> str:
        """Return the path of setup's worktree, which is also the shared checkout of items without worktrees."""
        return f"{self._context.world.home}/{paths.worktree(self._job.project, items.slug(self._job.id, 'setup'))}"

    def _run_map(self) -> None:
        """Run all items, merge the shared checkout if they ran in it, and go to the next phase."""
        if self._workflow.map.isolation == "none":
            self._prepare_checkout()
        self._run_part("map")
        if self._in_place is not None:
            self._stop_in_place()
            self._own.release()
            merge_item.merge(self._context, self._job, "setup", shared=True)
        self._step_phase("reduce" if self._workflow.reduce else "close")

    def _prepare_checkout(self) -> None:
        """Prepare to run items in the shared checkout.

        Runs setup again if the checkout is missing, claims this runner's processes, and puts back to waiting the items
        that a dead runner had started.
        """
        if not os.path.isdir(self._setup_worktree()):
            self._context.commit(records.repeat_part(self._job, "setup"))
            self._run_part("setup")
        self._in_place = InPlace(self._context, self._job, self._workflow, self._setup_worktree(), self._own.take())
        lost = [row.id for row in self._at_work("map") if row.state == "running"]
        if lost:
            self._context.commit(records.put_back(self._job, lost, began=True))

    def _stop_in_place(self) -> None:
        """Kill the steps that run in the shared checkout, and put their items back to waiting."""
        if self._in_place is None:
            return
        killed = self._in_place.kill_all()
        self._in_place = None
        if killed:
            self._context.commit(records.put_back(self._job, killed, began=True))

    # the loop -------------------------------------------------------------------------------------------------------------
    def _run_part(self, part: JobPart) -> None:
        """Start, settle and merge the items of a part until all have ended.

        Raises JobFailed when the part is setup or reduce and it failed.
        """
        while True:
            self._context.forget()
            self._check_wanted()
            try:
                self._record_outcomes(self._ended_attempts(part), part)
                self._merge_passed(part)
                started = self._start_items(part)
            finally:
                self._release_ended()
            self.progress.tell_counts(self._engines.why_waiting())
            rest = self._context.store.read(lambda rows: q.soonest_item(rows, job=self._job.id, part=part))
            if not started and not self._at_work(part):
                if not rest.n:
                    break
                self._wait_until(rest.at or 0)
            elif not started:
                self._wait_for_items(part)
        self._refuse_unfinished(part)

    def _wait_for_items(self, part: JobPart) -> None:
        """Wait until an item may have ended, at most 0.15 seconds, because the job may be cancelled meanwhile.

        Wait 4 ms when the items run in the shared checkout. While the kernel cannot report the exit of the items'
        processes, or a process has exited whose item cannot be settled yet, each wait is twice as long as the one
        before: from 4 ms to 0.15 seconds.
        """
        clock = self._context.world.clock
        if self._runs_in_place(part):
            clock.wait(_LOOK_SOON)
            return
        running = [row for row in self._at_work(part) if row.state == "running"]
        if running and attempts.wait_for_exit(self._context, self._job, running, _LOOK_AGAIN):
            self._patience = _LOOK_SOON
            return
        clock.wait(self._patience)
        self._patience = min(self._patience * 2, _LOOK_AGAIN)

    def _wait_until(self, at: int) -> None:
        """Wait until the time `at`, when the next retry is due, but at most 0.15 seconds: the job may be cancelled.

        While no item may start (an engine is held, a budget is spent), wait one second, whatever `at` is.
        """
        left = max(at - self._context.world.clock.now(), 0) / SECOND
        self._context.world.clock.wait(
            _LOOK_LATER if self._engines.room() == 0 else min(left + _LOOK_SOON, _LOOK_AGAIN)
        )

    def _runs_in_place(self, part: JobPart) -> bool:
        """Return whether the items of this part run in the shared checkout."""
        return part == "map" and self._in_place is not None

    def _check_wanted(self) -> None:
        """Raise _Halt when the runner is interrupted or the job was cancelled.

        When the job was cancelled, first end its attempts.
        """
        if not self._wanted():
            raise _Halt(INTERRUPTED)
        if self._read_job().state == "cancelled":
            self._stop_in_place()
            for row in self._at_work(None):
                attempts.stop(self._context, self._job, row)
            raise _Halt("cancelled")

    def _refuse_unfinished(self, part: JobPart) -> None:
        """Raise JobFailed when the part `setup` or `reduce` did not succeed. Items of `map` may fail."""
        if part == "map":
            return
        row = self._item(part)
        if row is not None and row.state != "done":
            why = f"{part} failed: {row.reason or row.state}"
            raise errors.JobFailed(job=self._job.id, why=why, advice=f"`fleet resume {self._job.id}` tries it again")

    def _item(self, ident: str) -> Item | None:
        """Return the row of an item as it is now; None when the job has no such item."""
        return self._context.store.read(lambda rows: q.item_by_id(rows, job=self._job.id, id=ident))

    def _at_work(self, part: JobPart | None) -> list[Item]:
        """Return the items of a part, or of all parts, that are running or merging."""
        rows = self._context.store.read(lambda snapshot: q.items_at_work(snapshot, job=self._job.id))
        return [row for row in rows if part in {None, row.part}]

    def _ended_attempts(self, part: JobPart) -> list[ItemAttempt]:
        """Settle the ended attempts at items of a part, and return them. The caller records their outcomes.

        An item whose attempt was interrupted is put back to waiting instead.
        """
        if self._runs_in_place(part) and self._in_place is not None:
            self._own.note(self._in_place.at_work())
            return self._in_place.collect_ended()
        ended = []
        for row in self._at_work(part):
            outcome = attempts.check_item(self._context, self._job, row) if row.state == "running" else None
            if outcome is not None:
                ended.append(ItemAttempt(self._item(row.id) or row, outcome))
                self._passed += [row.id] if outcome.passed else []
        return ended

    def _record_outcomes(self, ended: list[ItemAttempt], part: JobPart) -> None:
        """Record the next states of the items whose attempts have ended.

        Items that a usage limit ended go back to waiting. In the part "map", then raise JobFailed when an item is dead
        and `on_failure` is "stop", and _Halt, which pauses the job, when many items failed alike.
        """
        ended = self._put_back_limited(ended)
        if not ended:
            return
        now, ids = self._context.world.clock.now(), self._context.world.ids
        passed = [each.item for each in ended if each.outcome.passed]
        failed = [
            item_outcome.failure(self._workflow, each.item, each.outcome, now=now, fraction=ids.random_fraction())
            for each in ended
            if not each.outcome.passed
        ]
        steps = [step for each in ended for step in each.steps]
        merge = not self._runs_in_place(part)
        self._context.commit(records.record_outcomes(self._job, passed, failed, steps, merge=merge))
        for item in passed:
            self._engines.lift(since=item.started_at or 0)
            self.progress.tell_item(item, "merging" if merge else "done")
        for failure in failed:
            self.progress.tell_item(failure.item, failure.state, failure.reason)
        if failed and part == "map":
            self._stop_if_failing(failed)

    def _put_back_limited(self, ended: list[ItemAttempt]) -> list[ItemAttempt]:
        """Put back items whose attempt a usage limit ended: they have not failed. Returns the other attempts."""
        limited = [each for each in ended if each.outcome.signature == items.LIMIT]
        if limited:
            self._context.commit(records.put_back(self._job, [each.item.id for each in limited], began=True))
        for each in limited:
            self.progress.tell_item(each.item, "waiting", f"{self._engines.in_words()}; {each.outcome.reason}")
        return [each for each in ended if each.outcome.signature != items.LIMIT]

    def _stop_if_failing(self, failed: list[records.FailedAttempt]) -> None:
        """Remove the worktrees of skipped items, then stop or pause the job if too much has failed.

        Raises JobFailed to stop it: an item is dead and the workflow's `on_failure` is "stop". Raises _Halt to pause
        it: many items failed alike.
        """
        for each in failed:
            if each.state == "skipped":
                merge_item.release_item(self._context, self._job, each.item.id, status="failed", reason=each.reason)
            if each.state == "dead" and self._workflow.map.on_failure == "stop":
                why = f"item {each.item.id} failed, and on_failure is stop: {each.reason}"
                raise errors.JobFailed(job=self._job.id, why=why, advice="`fleet job dlq` shows it")
        why_pause = item_outcome.why_pause(self._context, self._job, self._workflow)
        if why_pause:
            raise _Halt(why_pause)

    def _start_items(self, part: JobPart) -> bool:
        """Start as many waiting items of a part as may run now. Returns whether any was started."""
        busy = sum(row.state == "running" for row in self._at_work(part))
        room = min(self._workflow.map.max_parallel if part == "map" else 1, self._engines.room()) - busy
        if room <= 0:
            return False
        now = self._context.world.clock.now()
        chosen = self._context.store.read(
            lambda rows: q.next_items(rows, job=self._job.id, part=part, now=now, most=room)
        )
        if not chosen:
            return False
        tasks = not self._runs_in_place(part)
        begun = self._context.commit(records.start(self._job, chosen, tasks=tasks))
        for row in chosen:
            if row.id in begun:
                self._start_attempt(row, part)
        return bool(begun)

    def _start_attempt(self, row: Item, part: JobPart) -> None:
        """Start an attempt at an item: in the shared checkout, or as a dispatch.

        When the dispatch could not be started, record that as the outcome of the attempt.
        """
        now = self._context.world.clock.now()
        item = row.replaced(attempts=row.attempts + 1, state="running", started_at=now)
        self.progress.tell_item(item, "running")
        if self._runs_in_place(part) and self._in_place:
            self._in_place.start(item)
            return
        outcome = attempts.start(self._context, self._job, item)
        if outcome is not None:
            self._record_outcomes([ItemAttempt(self._item(row.id) or item, outcome)], part)

    def _merge_passed(self, part: JobPart) -> None:
        """Merge each item of a part that has passed."""
        for row in self._at_work(part):
            if row.state == "merging":
                self._merge_one(row)

    def _merge_one(self, row: Item) -> None:
        """Merge an item that passed.

        On a conflict park the item; if the job's branch moved meanwhile, leave it for the next round.
        """
        try:
            commit = merge_item.merge(self._context, self._job, row.id)
        except (errors.NotMergeable, errors.GitRefused) as error:
            parked = records.FailedAttempt(
                item=row, state="parked", reason=str(error), signature="merge", where="merge"
            )
            self._context.commit(records.record_outcomes(self._job, [], [parked], [], merge=True))
            self.progress.tell_item(row, "parked", str(error))
            return
        except errors.Refused:
            return  # the job's branch moved meanwhile: merge in the next round
        self._context.commit(records.finish(self._job, row.id, commit))
        self.progress.tell_item(row, "done")
        if row.part == "map":
            self._merged.append(row.id)

    def _release_ended(self) -> None:
        """Release the worktrees and sessions of items that have passed or been merged since the last call.

        The caller has started the next items before, because they need none of these resources. If this runner dies
        first, the next runner of the job finds the items done with their tasks still open, and releases them.
        """
        passed, self._passed = self._passed, []
        merged, self._merged = self._merged, []
        for item in passed:
            attempts.reclaim_ended(self._context, self._job, item)
        for item in merged:
            merge_item.release_item(self._context, self._job, item)

    def tidy(self, *, over: bool) -> list[str]:
        """Remove the worktrees of done and skipped items. Returns what could not be removed, and why.

        The worktree of setup stays while items use it. `over`: the job is done, so that no item uses that worktree.
        """
        job, left = self._job, []
        rows = self._context.store.read(lambda snapshot: q.open_tasks_of_job(snapshot, project=job.project, job=job.id))
        uses = not over and (job.phase == "setup" or (job.phase == "map" and self._workflow.map.isolation == "none"))
        for row in rows:
            item = self._item(row.slug.removeprefix(items.slug(job.id, "")))
            if item is not None and item.state in {"done", "skipped"} and not (uses and item.id == "setup"):
                left += merge_item.release_item(self._context, job, item.id)
        return left
