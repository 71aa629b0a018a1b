"""Stages: move each task on. What is nearest to its end goes first: merge, then review and mending, then new work by priority."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.tasks.pipeline import KIND_AT, MENDING
from fleet.store import queries as q
from fleet.verbs.dispatch import dispatch as dispatching
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.merge.recorded import describe_missing

if TYPE_CHECKING:
    from fleet.store.queries import ListedTask, WaitingStage
    from fleet.verbs.context import Context

MOST_FIXES = 3
_MOST_READY = 100
_STAGES_WITHOUT_AGENT = frozenset({"finisher", "review"})


def advance_tasks(context: Context, project: str, troubles: list[str]) -> list[str]:
    """Start whatever can be started now, within the limits. Returns what was started, a line each.

    Start nothing while merged work is missing: agents would build on a branch without it.
    """
    missing = describe_missing(context, project)
    if missing:
        troubles.append(missing)
        return []
    started = _start_next_merge(context, project)
    review = context.setting("review", project)
    waiting = context.store.read(lambda rows: q.waiting_stages(rows, project=project))
    due: list[WaitingStage | ListedTask] = [row for row in waiting if _is_due(row, review)]
    due += _ready_tasks(context, project, review)
    # What is handed off is carried on by the drain, which knows what the successor is to read.
    handed = {row.slug for row in context.store.read(lambda rows: q.queued_handoffs(rows, project=project))}
    for row in (each for each in due if each.slug not in handed):
        try:
            started.append(_start_agent(context, project, row))
        except errors.LimitReached:
            break
        except (errors.NotSeated, errors.StoreReplaced):
            raise
        except errors.EngineHeld as error:
            troubles += [str(error)] if str(error) not in troubles else []
        except (errors.FleetError, OSError) as error:
            troubles.append(f"{row.slug} was not started: {error}")
    return started


def _is_due(row: WaitingStage, review: str | None) -> bool:
    """A review is an agent's only when the project says so; what was mended too often waits for a person."""
    if row.stage in MENDING:
        return row.fixes < MOST_FIXES
    return review == "agent"


def _ready_tasks(context: Context, project: str, review: str | None) -> list[ListedTask]:
    """Open tasks for an agent; one that was opened again at its review is a person's, unless agents review."""
    now = context.world.clock.now()
    rows = context.store.read(lambda snapshot: q.ready_tasks(snapshot, project=project, now=now, most=_MOST_READY))
    return [
        row for row in rows if row.stage not in _STAGES_WITHOUT_AGENT or (row.stage == "review" and review == "agent")
    ]


def _start_agent(context: Context, project: str, row: WaitingStage | ListedTask) -> str:
    """Start the agent of a task's stage. Of a task in progress it follows the one that was assigned before."""
    predecessor = row.assignee if row.status == "in_progress" else None
    kind = KIND_AT.get(row.stage, "worker")
    started = dispatching.dispatch(context, Wanted(project=project, slug=row.slug, kind=kind, predecessor=predecessor))
    return f"started {started.id} ({started.kind} of {row.slug}, {started.engine})"


def _start_next_merge(context: Context, project: str) -> list[str]:
    """Merging may take as long as the verify command does: a process of its own does it, one at a time."""
    rows = context.store.read(lambda snapshot: q.mergeable_tasks(snapshot, project=project))
    ripe = [row.slug for row in rows if row.status != "done"]
    at_work = context.store.read(lambda snapshot: q.listed_dispatches(snapshot, project=project, ended=0))
    busy = any(row.kind == "finisher" for row in at_work)
    if not ripe or busy or context.setting("merge", project) == "pr":
        return []
    context.world.start_fleet("merge", ripe[0], "-p", project)
    return [f"merging {ripe[0]}"]
