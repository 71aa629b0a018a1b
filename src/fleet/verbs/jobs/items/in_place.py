"""Run items without worktrees: side by side in one checkout that fleet owns, as child processes of the runner.

When a runner dies, the next runner first kills the steps that still run (own_processes.py): only the process that
started them could learn their exit status.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.model.jobs import items
from fleet.verbs.jobs.items import run_step
from fleet.verbs.jobs.items.item_outcome import ItemAttempt, ItemOutcome
from fleet.world.process.job_commands import CommandEnd, JobCommand

if TYPE_CHECKING:
    from fleet.model.jobs.placeholders import PlaceholderValues
    from fleet.model.jobs.workflow import Workflow
    from fleet.store.queries import Item, Job, JobStep
    from fleet.verbs.context import Context

# The process of a step that runs for fewer seconds is not recorded: the job's mark and lock are enough to find it.
_BRIEF = 0.25


@dataclass(slots=True)
class _RunningItem:
    """An item that is running: its current step, and the records of its earlier steps.

    `number` is the current step's, from 1; `since` is when it began, by the monotonic clock.
    """

    item: Item
    where: run_step.Where
    values: PlaceholderValues
    child: JobCommand | CommandEnd
    run: run_step.StepRun | None = None
    number: int = 1
    since: float = 0.0
    steps: list[JobStep] = field(default_factory=list)


class InPlace:
    """The items that this runner itself runs, in the shared checkout.

    `cwd` is the path of that checkout; `lock` is the file descriptor of the runner's lock, which the steps inherit.
    """

    def __init__(self, context: Context, job: Job, workflow: Workflow, cwd: str, lock: int) -> None:
        self._context = context
        self._job = job
        self._workflow = workflow
        self._cwd = cwd
        self._lock = lock
        self._work: dict[str, _RunningItem] = {}
        self._setup = run_step.values_of(context, job, workflow.steps, "map", None)

    def start(self, item: Item) -> None:
        """Start the first step of an item. A step that cannot start is an ended attempt for `collect_ended`."""
        where = run_step.Where(
            home=self._context.world.home,
            job=self._job.id,
            project=self._job.project,
            item=item.id,
            attempt=item.attempts,
            cwd=self._cwd,
            own=True,
        )
        work = _RunningItem(
            item=item, where=where, values=self._setup | {"item": json.loads(item.data)}, child=CommandEnd(status=None)
        )
        self._work[item.id] = work
        self._begin_step(work)

    def _begin_step(self, work: _RunningItem) -> None:
        """Start the item's current step."""
        step = self._workflow.map.steps[work.number - 1]
        work.run = run_step.StepRun(self._context, step, work.number, work.where, work.values)
        work.child = work.run.start(self._lock)
        work.since = self._context.world.clock.ticks()

    def at_work(self) -> dict[str, int]:
        """Return the pids of the steps that run, by item; steps that began less than a quarter of a second ago are left out."""
        before = self._context.world.clock.ticks() - _BRIEF
        return {
            item: work.child.pid
            for item, work in self._work.items()
            if isinstance(work.child, JobCommand) and work.since <= before
        }

    def collect_ended(self) -> list[ItemAttempt]:
        """Return the attempts that have ended. For an item whose step passed and that has more steps, start the next."""
        ended_attempts = []
        for ident, work in list(self._work.items()):
            ended = work.child.look() if isinstance(work.child, JobCommand) else work.child
            outcome = self._end_step(work, ended) if ended is not None else None
            if outcome is not None:
                del self._work[ident]
                ended_attempts.append(ItemAttempt(work.item, outcome, work.steps))
        return ended_attempts

    def _end_step(self, work: _RunningItem, ended: CommandEnd) -> ItemOutcome | None:
        """Record an ended step. Returns the item's outcome, or starts the item's next step and returns None."""
        assert work.run is not None  # noqa: S101 - it was started
        result, row = work.run.conclude(ended)
        work.steps.append(row)
        at = f"map step {work.number}"
        if not result.ok:
            alike = items.LIMIT if result.limit else items.signature(at, result.reason, work.values["item"])
            return ItemOutcome(passed=False, where=at, reason=f"{at}: {result.reason}", signature=alike)
        if work.number == len(self._workflow.map.steps):
            return ItemOutcome(passed=True, where="", reason="")
        work.number += 1
        self._begin_step(work)
        return None

    def kill_all(self) -> list[str]:
        """Kill the commands of all running steps and forget the steps. Return the ids of all their items."""
        killed = list(self._work)
        for work in self._work.values():
            if isinstance(work.child, JobCommand):
                work.child.kill()
        self._work.clear()
        return killed
