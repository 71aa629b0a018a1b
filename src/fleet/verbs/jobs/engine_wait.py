"""A job waits while an engine of its agents is held back for the whole fleet. When that may be over, one item tries it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fleet.model.text.times import iso
from fleet.store import queries as q
from fleet.verbs.agents import failed_turns

if TYPE_CHECKING:
    from fleet.model.jobs.workflow import Workflow
    from fleet.store.queries import EngineHold, Job
    from fleet.verbs.context import Context


class EngineWait:
    """What holds a job's engines back: a limit until its reset, a login until a person mends it."""

    def __init__(self, context: Context, job: Job, workflow: Workflow) -> None:
        self._context = context
        self._project = job.project
        self._named = {step.engine for step in workflow.agents()}

    def room(self) -> int:
        """How many items may run: none while an engine is held back, one after the reset, any number else."""
        held = self._held()
        if not held:
            return sys.maxsize
        now = self._context.world.clock.now()
        return 0 if any(row.until is None or row.until > now for row in held) else 1

    def in_words(self) -> str:
        """Who is held back, and until when."""
        return ", ".join(
            f"{row.engine} is held back until {iso(row.until) if row.until else 'somebody logs in'}"
            for row in self._held()
        )

    def lift(self, *, since: int) -> None:
        """An item that began at this time has passed: what was tried again works again."""
        now = self._context.world.clock.now()
        for row in self._held():
            if row.kind == "limit" and (row.until or 0) <= now and row.since < since:
                self._context.commit(failed_turns.lift(row.engine))

    def _held(self) -> list[EngineHold]:
        """The engines of this job's agents that are held back."""
        held = self._context.store.read(q.all_holds) if self._named else []
        if not held:
            return []
        default = self._context.setting("engine", self._project)
        used = {name or default for name in self._named}
        return [row for row in held if row.engine in used]
