"""Report the progress of a job as events; each surface shows them in its own way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.model.results.jobs import ItemChanged, JobChanged, JobProgress
from fleet.verbs.jobs import records, results

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.states import ItemState
    from fleet.store.queries import Item, Job
    from fleet.verbs.context import Context

    JobEvent = JobChanged | ItemChanged | JobProgress
    Tell = Callable[[JobEvent], None]

# The least number of seconds between two events with counts.
_EVERY = 0.5


class ProgressReporter:
    """Sends the events of one runner to a surface: `tell` is called with each event."""

    def __init__(self, context: Context, job: str, tell: Tell) -> None:
        self._context = context
        self._job = job
        self._tell = tell
        self._began = context.world.clock.ticks()
        self._last = 0.0
        self._ended_before: int | None = None

    def tell_job(self, job: Job) -> None:
        """Send the state and phase of the job."""
        self._tell(JobChanged(job=job.id, name=job.name, state=job.state, phase=job.phase, reason=job.reason))

    def tell_item(self, item: Item, state: ItemState, reason: str | None = None) -> None:
        """Send the new state of an item, with the first line of the reason."""
        first = reason.splitlines()[0] if reason else None
        label = records.label(item)
        self._tell(
            ItemChanged(job=self._job, item=item.id, label=label, state=state, attempt=item.attempts, reason=first)
        )

    def tell_counts(self, waits: str | None = None, *, now: bool = False) -> None:
        """Send the counts of the items, their rate, the time left and what the job waits for (`waits`, None for nothing).

        At most twice a second; with `now`, at once.
        """
        ticks = self._context.world.clock.ticks()
        if now or ticks - self._last >= _EVERY:
            self._last = ticks
            self._tell(self._progress(ticks - self._began).replaced(waits=waits))

    def _progress(self, seconds: float) -> JobProgress:
        """Return the counts of the job's items, the rate of ended items per second, and the estimated seconds left.

        `seconds` have passed since the runner began. The estimate is None while unknown, 0 when all items have ended.
        """
        counts = results.count(self._context, self._job)
        self._ended_before = counts.ended if self._ended_before is None else self._ended_before
        rate = (counts.ended - self._ended_before) / seconds if seconds > 0 else 0.0
        left = counts.total - counts.ended
        eta = round(left / rate) if rate > 0 and left else (0 if not left else None)
        return JobProgress.made_of(counts, job=self._job, rate=round(rate, 3), eta=eta)
