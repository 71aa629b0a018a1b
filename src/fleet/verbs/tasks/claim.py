"""Claim a ready task for the caller, and give a claimed task back."""

from __future__ import annotations

from fleet import errors
from fleet.model import names
from fleet.model.results.reports import Claimed, Unclaimed
from fleet.model.tasks import fence
from fleet.model.text import times
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.queries import TaskState
    from fleet.store.transaction import Tx


def claim(*, project: str, slug: str, override: bool = False) -> Change[Claimed]:
    """Return the change that claims a task for the caller.

    Only one of several callers succeeds; for the others, committing raises TaskHeld. It raises NotReady for an open
    task that is not ready, IllegalStep for a task that is not open and that nobody works on, and NotAllowed for an
    agent that was started on another task. With `override`, a person claims an open task that is not ready, too, or
    takes a task from its assignee. Nothing changes when the caller has claimed the task already.
    """
    names.project(project)
    names.slug(slug)

    def work(tx: Tx) -> Claimed:
        tx.about(project, slug)
        _refuse_other_task(tx, project, slug)
        if not tasks.claim(tx, project, slug, override=override):
            was = tasks.state(tx, project, slug)
            if fence.holder(was) == tx.caller.actor:
                return _claimed_view(project, slug, tx, changed=False)
            _refuse_unclaimable(project, slug, was, now=tx.at, override=override)
            tasks.reopen(tx, project, slug, was)
            tasks.claim(tx, project, slug, override=True)
            tx.note(superseded=was.assignee)
        tx.note(status="in_progress", assignee=tx.caller.actor)
        return _claimed_view(project, slug, tx, changed=True)

    return Change(f"claim {project}/{slug}", work, override, returns=Claimed)


def _refuse_other_task(tx: Tx, project: str, slug: str) -> None:
    """Raise NotAllowed when an agent claims a task other than the one it was started on. A coordinator may claim none."""
    ident = tx.caller.dispatch
    row = None if ident is None else q.dispatch_by_id(tx, id=ident)
    if row is not None and (row.project, row.slug) != (project, slug):
        rule, instead = "an agent works on the task that it was started on", "report on that task"
        facts = {"role": row.kind, "act": "claim", "what": f"claim {project}/{slug}"}
        raise errors.NotAllowed(who=f"{row.kind} {ident}", rule=rule, instead=instead, **facts)


def unclaim(*, project: str, slug: str, override: bool = False) -> Change[Unclaimed]:
    """Return the change that gives a claimed task back: the task is open again.

    With `override`, a person gives back a task that somebody else has claimed; without it, committing raises
    NeedsOverride. For an agent that has lost the task, committing raises Superseded; for a task that nobody has
    claimed, IllegalStep.
    """
    names.project(project)
    names.slug(slug)

    def work(tx: Tx) -> Unclaimed:
        tx.about(project, slug)
        was = tasks.state(tx, project, slug)
        fence.check_agent(project, slug, was, tx.caller)
        fence.step(project, slug, was, "unclaim")
        fence.check_person(project, slug, was, tx.caller, override=override)
        tasks.reopen(tx, project, slug, was)
        tx.note(status="open", was=was.status, assignee=None, superseded=was.assignee)
        return Unclaimed(project=project, task=slug)

    return Change(f"unclaim {project}/{slug}", work, override, returns=Unclaimed)


def _refuse_unclaimable(project: str, slug: str, was: TaskState, *, now: int, override: bool) -> None:
    """Raise the error that says why a task, in the state `was`, cannot be claimed.

    Return without an error only when somebody else has the task and `override` lets the caller take it over.
    """
    if fence.holder(was) is None:
        fence.step(project, slug, was, "claim")
        raise errors.NotReady(project=project, slug=slug, why=fence.why_not_ready(was, now=now))
    if not override:
        since = "an unknown time" if was.started_at is None else times.clock(was.started_at)
        raise errors.TaskHeld(project=project, slug=slug, holder=was.assignee, since=since)


def _claimed_view(project: str, slug: str, tx: Tx, *, changed: bool) -> Claimed:
    """Return the view of the claimed task. `changed` is False when the caller had claimed it before."""
    now = tasks.state(tx, project, slug)
    return Claimed(
        project=project,
        task=slug,
        status=now.status,
        assignee=tx.caller.actor,
        attempts=now.attempts,
        changed=changed,
    )
