"""Report that a task is done, failed, blocked or abandoned. An agent's first report counts; it may repeat the same."""

from __future__ import annotations

from fleet import errors
from fleet.model import names
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.results.reports import Report
from fleet.model.tasks import fence
from fleet.model.text import texts
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model import states
    from fleet.model.agents.actors import Caller
    from fleet.model.tasks.fence import Ending
    from fleet.store.queries import Dispatch, TaskState
    from fleet.store.transaction import Tx

# The report that is recorded on the agent's dispatch. `abandon` is not recorded: it ends the task at once.
_DISPATCH_REPORTS: dict[Ending, states.ReportState] = {"done": "done", "fail": "failed", "block": "blocked"}


def done(
    *,
    project: str,
    slug: str,
    message: str | None = None,
    work: str | None = None,
    override: bool = False,
    leaves: str | None = None,
    left: str = "",
) -> Change[Report]:
    """Return the change that reports a task as done; committing it writes the report.

    `work` is the commit of the finished work, None when it is not known. `leaves` is the agent's reason for leaving
    files uncommitted, None when it leaves none; `left` names those files, as one text. Both are added to the message.
    With `override`, a person may report on a task that somebody else works on.
    """
    reason = None if leaves is None else texts.text("reason", leaves)
    told = None if reason is None else f"left uncommitted{f' ({left})' if left else ''}: {reason}"
    words = [None if message is None else texts.text("message", message), told]
    return _report_change(
        "done",
        project,
        slug,
        message="\n".join(each for each in words if each) or message,
        commit=work,
        override=override,
        leaves=reason,
    )


def fail(*, project: str, slug: str, reason: str, work: str | None = None, override: bool = False) -> Change[Report]:
    """Return the change that reports a task as failed.

    `work` is the commit that its work is at, None when it is not known. With `override`, a person may report on a task
    that somebody else works on.
    """
    return _report_change("fail", project, slug, reason=reason, commit=work, override=override)


def block(*, project: str, slug: str, reason: str, work: str | None = None, override: bool = False) -> Change[Report]:
    """Return the change that reports a task as blocked: the work cannot continue.

    `work` is the commit that its work is at, None when it is not known. With `override`, a person may report on a task
    that somebody else works on.
    """
    return _report_change("block", project, slug, reason=reason, commit=work, override=override)


def abandon(
    *, project: str, slug: str, reason: str | None = None, override: bool = False, planner: bool = False
) -> Change[Report]:
    """Return the change that abandons a task: the work is no longer wanted.

    With `override`, a person may abandon a task that somebody else works on. `planner`: the caller is a project's
    coordinator; it is treated as a person.
    """
    return _report_change("abandon", project, slug, reason=reason, override=override, planner=planner)


def _report_change(
    event: Ending,
    project: str,
    slug: str,
    *,
    reason: str | None = None,
    message: str | None = None,
    commit: str | None = None,
    override: bool,
    planner: bool = False,
    leaves: str | None = None,
) -> Change[Report]:
    """Return the change for any report (`event` says which).

    When a running agent reports done, fail or block, that is only recorded; any other report ends or blocks the task.
    `reason` says why, `message` goes into the task's log, `commit` is the reported work, `leaves` why files stay
    uncommitted: each None when it is not given.
    """
    names.project(project)
    names.slug(slug)
    why = None if reason is None else texts.text("reason", reason)
    last_words = None if message is None else texts.text("message", message)

    def work(tx: Tx) -> Report:
        tx.about(project, slug)
        was = tasks.state(tx, project, slug)
        caller = tx.caller.without_task() if planner else tx.caller
        attempt, report = _speaking_dispatch(tx, project, slug, was, caller), _DISPATCH_REPORTS.get(event)
        if last_words is not None:  # also when the report is repeated: a message only adds to the log
            tasks.add_log_message(tx, project, slug, last_words)
            tx.note(message=last_words)
        if attempt is not None and report is not None:
            changed = _record_report(tx, attempt, report, why, commit)
            if changed:
                q.leave_uncommitted(tx, project=project, slug=slug, reason=leaves)
            return result(f"reported {report}", [], changed=changed)
        if fence.is_repeated(project, slug, was, event, caller):
            tx.note(repeated=True)
            return result(was.status, [], changed=False)
        fence.check_person(project, slug, was, caller, override=override)
        after = fence.step(project, slug, was, event)
        ready = tasks.end(tx, project, slug, was, status=after, reason=why, work=commit if event == "done" else None)
        q.leave_uncommitted(tx, project=project, slug=slug, reason=leaves)
        superseded = _superseded_assignee(was, tx)
        tx.note(status=after, was=was.status, reason=why, message=last_words, ready=ready, superseded=superseded)
        return result(after, ready, changed=True)

    def result(status: str, ready: list[str], *, changed: bool) -> Report:
        """Return the report as the caller gets it, with the message that was logged."""
        return Report(project=project, task=slug, status=status, changed=changed, logged=last_words, ready=ready)

    return Change(f"{event} {project}/{slug}", work, why, last_words, override, returns=Report)


def _speaking_dispatch(tx: Tx, project: str, slug: str, was: TaskState, caller: Caller) -> Dispatch | None:
    """Return the unfinished dispatch of the agent that reports; None for a person, and for an agent that has ended.

    Raises Superseded when the task is no longer assigned to that agent.
    """
    if caller.dispatch is None:
        return None
    fence.check_agent(project, slug, was, caller)
    row = q.dispatch_by_id(tx, id=caller.dispatch)
    return row if row is not None and is_unfinished(row) else None


def _record_report(
    tx: Tx, attempt: Dispatch, report: states.ReportState, reason: str | None, commit: str | None
) -> bool:
    """Record an agent's report with its reason and commit. Returns False when the same report was recorded before.

    The dispatch does not end by this, because the agent may still be writing. Raises Superseded when the agent has reported
    something else before.
    """
    if attempt.report is None:
        q.report_dispatch(tx, id=attempt.id, report=report, reason=reason, work=commit, at=tx.at)
        tx.note(report=report, reason=reason, commit=commit)
        return True
    if attempt.report != report:
        now = f"it was reported {attempt.report} before"
        raise errors.Superseded(who=f"dispatch {attempt.id}", project=attempt.project, slug=attempt.slug, now=now)
    tx.note(repeated=True)
    return False


def _superseded_assignee(was: TaskState, tx: Tx) -> str | None:
    """Return the assignee whose work this report ends, if somebody else made the report; else None."""
    holder = fence.holder(was)
    return None if holder == tx.caller.actor else holder
