"""Let a job wait while one of its engines is held back for the whole fleet. After the reset, one item tries the engine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.jobs.workflow import read
from fleet.model.text.times import clock
from fleet.store import queries as q
from fleet.verbs.agents.cost import apply_holds
from fleet.verbs.agents.cost.budgets import limits_in, spent_budget
from fleet.verbs.jobs.items import run_step

if TYPE_CHECKING:
    from fleet.model.agents.budgets import Budget
    from fleet.model.jobs.workflow import Workflow
    from fleet.store.queries import EngineHold, Job
    from fleet.verbs.context import Context


def wait_of_job(context: Context, job: Job) -> str | None:
    """Return, for people, the held engine or spent budget that a running job waits for; None when it waits for nothing.

    While the project's settings cannot be read, its engine is not known, and only a spent budget is named. `fleet status`
    shows such settings as an obstacle.
    """
    if job.state != "running":
        return None
    wait = EngineWait(context, job, read(job.source, f"the document of job {job.id}"))
    try:
        return wait.why_waiting()
    except (errors.BadInput, errors.NotTrusted):  # the project's settings name no engine, or cannot be read
        return wait.spent_budget_text() or None


def _describe_hold(row: EngineHold, now: int) -> str:
    """Return, for people, until when an engine is held back: a time, or until somebody logs in.

    When that time has passed, return that one item tries the engine.
    """
    if row.until is None:
        return f"{row.engine} is held back until somebody logs in ({row.reason})"
    if row.until <= now:
        return f"{row.engine} is tried again by one item, after its limit"
    return f"{row.engine} is held back until {clock(row.until)} ({row.reason})"


class EngineWait:
    """The holds on a job's engines, and its spent budgets.

    A usage limit holds an engine until its reset, a failed login until a person logs in.
    """

    def __init__(self, context: Context, job: Job, workflow: Workflow) -> None:
        self._context = context
        self._project = job.project
        self._named = {step.engine for step in workflow.agent_steps()}

    def room(self) -> int:
        """Return how many items may run at once: 0 while an engine is held back or a budget is spent.

        1 when the time of every hold has passed, so that one item tries the engine; sys.maxsize when nothing is held
        back.
        """
        holds = self._holds()
        if self._spent() is not None:
            return 0
        if not holds:
            return sys.maxsize
        now = self._context.world.clock.now()
        return 0 if any(row.until is None or row.until > now for row in holds) else 1

    def in_words(self) -> str:
        """Return the spent budget, and the held engines with their ends, as text for people; "" when there are none.

        Engines whose hold has ended and that are only to be tried are named, too.
        """
        budget, now = self.spent_budget_text(), self._context.world.clock.now()
        return ", ".join([*([budget] if budget else []), *(_describe_hold(row, now) for row in self._holds())])

    def spent_budget_text(self) -> str:
        """Return which budget of the job's project or of the day is spent, for people; "" when none is."""
        spent = self._spent()
        return spent.refusal().spoken if spent is not None else ""

    def why_waiting(self) -> str | None:
        """Return what the job waits for, for people, while no item may run; None when an item may run."""
        return self.in_words() if self.room() == 0 else None

    def _spent(self) -> Budget | None:
        """Return a budget of the project or the day that is spent; None without one, and for a job without agent steps."""
        limits = limits_in(self._context.settings_with_sources()) if self._named else {}
        if not limits:
            return None
        now = self._context.world.clock.now()
        place = self._project
        return self._context.store.read(lambda rows: spent_budget(rows, limits, project=place, slug=None, at=now))

    def lift(self, *, since: int) -> None:
        """Lift the ended holds on the job's engines, because an item that began at the time `since` has succeeded.

        A hold that was recorded at that time or later stays.
        """
        now = self._context.world.clock.now()
        for row in self._holds():
            if row.until is not None and row.until <= now and row.since < since:
                self._context.commit(apply_holds.lift_hold(row.engine))

    def _holds(self) -> list[EngineHold]:
        """Return the holds on the engines of this job's agent steps."""
        holds = self._context.store.read(q.all_holds) if self._named else []
        if not holds:
            return []
        used = {run_step.choose_engine(self._context, name, self._project).engine for name in self._named}
        return [row for row in holds if row.engine in used]
