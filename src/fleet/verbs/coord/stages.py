"""Start the next agent of each task: first merges, then reviews and fixes, then new tasks by priority."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.tasks import fence
from fleet.model.tasks.pipeline import KIND_AT, MENDING, MOST_FIXES
from fleet.store import queries as q
from fleet.verbs.coord.tend import TICK_ENDING_ERRORS
from fleet.verbs.dispatch import dispatch as dispatching
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.merge.recorded import describe_missing

if TYPE_CHECKING:
    from fleet.store.queries import ListedTask, WaitingStage
    from fleet.verbs.context import Context

_MOST_READY = 100
# An open task at one of these stages gets no agent, except a review when agents review.
_STAGES_WITHOUT_AGENT = frozenset({"finisher", "review"})


def advance_tasks(context: Context, project: str, troubles: list[str]) -> list[str]:
    """Start a project's next merge, and every agent that the limits allow now; add the errors to `troubles`.

    Returns a line for people for each start. While merged work is missing from the integration branch, start nothing:
    agents would build without that work. The errors `TICK_ENDING_ERRORS` are raised.
    """
    missing = describe_missing(context, project)
    if missing:
        troubles.append(missing)
        return []
    started = _start_next_merge(context, project)
    review = context.settings(project).review
    waiting = context.store.read(lambda rows: q.waiting_stages(rows, project=project))
    due: list[WaitingStage | ListedTask] = [row for row in waiting if _is_due(row, review)]
    due += _ready_tasks(context, project, review)
    # Skip tasks with a queued handoff: its drain starts the successor, with the handoff document.
    handed = {row.slug for row in context.store.read(lambda rows: q.queued_handoffs(rows, project=project))}
    for row in (task for task in due if task.slug not in handed):
        try:
            started.append(_start_agent(context, project, row))
        except errors.LimitReached:
            break
        except TICK_ENDING_ERRORS:
            raise
        except (errors.EngineHeld, errors.OverBudget) as error:
            troubles += [str(error)] if str(error) not in troubles else []
        except (errors.FleetError, OSError) as error:
            troubles.append(f"{row.slug} was not started: {error}")
    return started


def _is_due(row: WaitingStage, review: str | None) -> bool:
    """Return whether the coordinator starts an agent for a task that waits to be repaired or reviewed.

    A task is repaired (by a fix or a rebase) at most MOST_FIXES times; it is reviewed by an agent only when the setting
    `review` is "agent".
    """
    if row.stage in MENDING:
        return row.fixes < MOST_FIXES
    return review == "agent"


def _ready_tasks(context: Context, project: str, review: str | None) -> list[ListedTask]:
    """Return the open tasks to start an agent for. A task that waits for review counts only if `review` is "agent"."""
    now = context.world.clock.now()
    rows = context.store.read(lambda snapshot: q.ready_tasks(snapshot, project=project, now=now, most=_MOST_READY))
    return [
        row for row in rows if row.stage not in _STAGES_WITHOUT_AGENT or (row.stage == "review" and review == "agent")
    ]


def _start_agent(context: Context, project: str, row: WaitingStage | ListedTask) -> str:
    """Start the agent for a task's stage, as the successor of the task's assignee if it has one.

    Returns a line for people.
    """
    wanted = Wanted(
        project=project, slug=row.slug, kind=KIND_AT.get(row.stage, "worker"), predecessor=fence.holder(row)
    )
    started = dispatching.dispatch(context, wanted)
    return f"started {started.id} ({started.kind} of {row.slug}, {started.engine})"


def _start_next_merge(context: Context, project: str) -> list[str]:
    """Start `fleet merge` for the tasks that wait to be merged, as a background process, because it may take long.

    At most as many tasks are merged together as the setting `merge_batch` says. Returns a line for people; an empty
    list when nothing waits, a merge is running, or the project merges by pull requests.
    """
    rows = context.store.read(lambda snapshot: q.mergeable_tasks(snapshot, project=project))
    mergeable = [row.slug for row in rows if row.status != "done"]
    at_work = context.store.read(lambda snapshot: q.listed_dispatches(snapshot, project=project, ended=0))
    busy = any(row.kind == "finisher" for row in at_work)
    if not mergeable or busy or context.settings(project).merge == "pr":
        return []
    together = mergeable[: context.settings(project).merge_batch]
    context.world.start_fleet("merge", *together, "-p", project)
    return [f"merging {', '.join(together)}"]
