"""Report: done, failed, blocked or abandoned. The first report of an attempt counts; the same again is fine."""

from __future__ import annotations

from fleet.errors.families import Superseded
from fleet.model import names
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.tasks import fence
from fleet.model.text import texts
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.agents.actors import Caller
    from fleet.store.queries import Dispatch, TaskState
    from fleet.store.transaction import Row, Tx


def done(
    *, project: str, slug: str, message: str | None = None, work: str | None = None, override: bool = False
) -> Change[Row]:
    """The work is done. `work` is the commit that it is at, None when that is not known."""
    return _end("done", project, slug, message=message, commit=work, override=override)


def fail(*, project: str, slug: str, reason: str, work: str | None = None, override: bool = False) -> Change[Row]:
    """The work failed."""
    return _end("fail", project, slug, reason=reason, commit=work, override=override)


def block(*, project: str, slug: str, reason: str, work: str | None = None, override: bool = False) -> Change[Row]:
    """The work cannot go on."""
    return _end("block", project, slug, reason=reason, commit=work, override=override)


def abandon(
    *, project: str, slug: str, reason: str | None = None, override: bool = False, planner: bool = False
) -> Change[Row]:
    """The work is not wanted any more. A planner (the project's coordinator) says it of tasks that are not its own."""
    return _end("abandon", project, slug, reason=reason, override=override, planner=planner)


def _end(
    event: str,
    project: str,
    slug: str,
    *,
    reason: str | None = None,
    message: str | None = None,
    commit: str | None = None,
    override: bool,
    planner: bool = False,
) -> Change[Row]:
    names.project(project)
    names.slug(slug)
    why = None if reason is None else texts.text("reason", reason)
    said = None if message is None else texts.text("message", message)

    def work(tx: Tx) -> Row:
        tx.about(project, slug)
        was = tasks.state(tx, project, slug)
        outcome = fence.OUTCOME[event]
        caller = tx.caller.without_task() if planner else tx.caller
        attempt = _attempt(tx, project, slug, was, caller)
        if attempt is not None:
            return _report(tx, attempt, (outcome, why, commit), said)
        if fence.is_repeated(project, slug, was, event, caller):
            tx.note(repeated=True, **_said(tx, project, slug, said))
            return _result(project, slug, outcome, changed=False, logged=said)
        fence.check_person(project, slug, was, caller, override=override)
        after = fence.step(project, slug, was, event)
        freed = tasks.end(tx, project, slug, was, status=after, reason=why, work=commit if event == "done" else None)
        _said(tx, project, slug, said)
        tx.note(status=after, was=was.status, reason=why, message=said, ready=freed, superseded=_superseded(was, tx))
        return _result(project, slug, after, changed=True, logged=said, ready=freed)

    return Change(f"{event} {project}/{slug}", work, why, said, override)


def _attempt(tx: Tx, project: str, slug: str, was: TaskState, caller: Caller) -> Dispatch | None:
    """The unfinished dispatch that is speaking, if it is one and the task is still its own."""
    if caller.dispatch is None:
        return None
    fence.check_agent(project, slug, was, caller)
    row = q.dispatch_by_id(tx, id=caller.dispatch)
    return row if row is not None and is_unfinished(row) else None


def _report(tx: Tx, attempt: Dispatch, told: tuple[str, str | None, str | None], said: str | None) -> Row:
    """Record the agent's word, its reason and the commit it speaks of. It ends nothing: the agent may still be writing.

    The first report counts.
    """
    word, reason, commit = told
    project, slug = attempt.project, attempt.slug
    if attempt.report is not None:
        if attempt.report != word:
            now = f"it was reported {attempt.report} before"
            raise Superseded(who=f"dispatch {attempt.id}", project=project, slug=slug, now=now)
        tx.note(repeated=True, **_said(tx, project, slug, said))
        return _result(project, slug, f"reported {word}", changed=False, logged=said)
    q.report_dispatch(tx, id=attempt.id, report=word, reason=reason, work=commit, at=tx.at)
    tx.note(report=word, reason=reason, commit=commit, **_said(tx, project, slug, said))
    return _result(project, slug, f"reported {word}", changed=True, logged=said)


def _said(tx: Tx, project: str, slug: str, message: str | None) -> Row:
    """Keep the message, and say so in the operation. A repeated report's is kept too: it adds, and changes nothing."""
    if message is None:
        return {}
    tasks.say(tx, project, slug, message)
    return {"message": message}


def _result(
    project: str, slug: str, status: str, *, changed: bool, logged: str | None, ready: list[str] | None = None
) -> Row:
    head = {"project": project, "task": slug, "status": status, "changed": changed}
    return head | {"logged": logged, "ready": ready or []}


def _superseded(was: TaskState, tx: Tx) -> str | None:
    taken = was.status == "in_progress" and was.assignee != tx.caller.actor
    return was.assignee if taken else None
