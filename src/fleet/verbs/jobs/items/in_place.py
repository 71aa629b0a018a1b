"""In place: items that need no worktree run side by side in one checkout of fleet's own, as children of the runner.

Whoever follows a dead runner first ends what that one had started (own_processes.py): nobody is left who could learn how it ends.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.model.jobs import items
from fleet.verbs.jobs.items import run_step
from fleet.verbs.jobs.items.item_outcome import Attempt, Outcome
from fleet.world.process.children import Child, Ended

if TYPE_CHECKING:
    from fleet.model.jobs.placeholders import Values
    from fleet.model.jobs.workflow import Workflow
    from fleet.store.queries import Item, Job, JobStep
    from fleet.verbs.context import Context

# Steps that end sooner are not worth a transaction that says who they are: the job's mark and lock tell.
_BRIEF = 0.25


@dataclass(slots=True)
class _Work:
    """An item at work: which step's turn it is, and the steps before it."""

    item: Item
    where: run_step.Where
    values: Values
    child: Child | Ended
    run: run_step.StepRun | None = None
    number: int = 1
    since: float = 0.0
    steps: list[JobStep] = field(default_factory=list)


class InPlace:
    """The items that this runner works on itself."""

    def __init__(self, context: Context, job: Job, workflow: Workflow, cwd: str, lock: int) -> None:
        self._context = context
        self._job = job
        self._workflow = workflow
        self._cwd = cwd
        self._lock = lock
        self._work: dict[str, _Work] = {}
        self._setup = run_step.values_of(context, job, workflow, "map", None)

    def start(self, item: Item) -> None:
        """Begin an item that is running."""
        where = run_step.Where(
            home=self._context.world.home,
            job=self._job.id,
            project=self._job.project,
            item=item.id,
            attempt=item.attempts,
            cwd=self._cwd,
            own=True,
        )
        work = _Work(
            item=item, where=where, values=self._setup | {"item": json.loads(item.data)}, child=Ended(status=None)
        )
        self._work[item.id] = work
        self._begin_step(work)

    def _begin_step(self, work: _Work) -> None:
        step = self._workflow.map.steps[work.number - 1]
        work.run = run_step.StepRun(self._context, step, work.number, work.where, work.values)
        work.child = work.run.start(self._lock)
        work.since = self._context.world.clock.ticks()

    def at_work(self) -> dict[str, int]:
        """The process ids of steps that have run for a while, by item."""
        before = self._context.world.clock.ticks() - _BRIEF
        return {
            item: work.child.pid
            for item, work in self._work.items()
            if isinstance(work.child, Child) and work.since <= before
        }

    def look(self) -> list[Attempt]:
        """The attempts that have ended."""
        over = []
        for ident, work in list(self._work.items()):
            ended = work.child.look() if isinstance(work.child, Child) else work.child
            outcome = self._after(work, ended) if ended is not None else None
            if outcome is not None:
                del self._work[ident]
                over.append(Attempt(work.item, outcome, work.steps))
        return over

    def _after(self, work: _Work, ended: Ended) -> Outcome | None:
        """The next step begins, or the item is over."""
        assert work.run is not None  # noqa: S101 - it was started
        result, row = work.run.conclude(ended)
        work.steps.append(row)
        at = f"map step {work.number}"
        if not result.ok:
            alike = items.LIMIT if result.limit else items.signature(at, result.reason, work.values["item"])
            return Outcome(passed=False, where=at, reason=f"{at}: {result.reason}", signature=alike)
        if work.number == len(self._workflow.map.steps):
            return Outcome(passed=True, where="", reason="")
        work.number += 1
        self._begin_step(work)
        return None

    def drop(self) -> list[str]:
        """End all that runs. Which items that were."""
        dropped = list(self._work)
        for work in self._work.values():
            if isinstance(work.child, Child):
                work.child.kill()
        self._work.clear()
        return dropped
