"""Review: list the work that waits for a verdict, and record verdicts.

Accepted work is merged next; work that is sent back waits at the stage `fix`. A verdict does not count when another
came first or its reviewer was superseded; its comments are kept for the next agent.
"""

from __future__ import annotations

from fleet import errors
from fleet.model import names
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.results.merge import Judgement, VerdictView, Waiting
from fleet.model.results.value import Value
from fleet.model.tables import change, target
from fleet.model.tasks import fence
from fleet.model.tasks.pipeline import WORKING
from fleet.model.tasks.steps import STEPS
from fleet.model.text import texts
from fleet.model.text.times import iso
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import ReviewVerdict
    from fleet.model.tasks.steps import VerdictEvent
    from fleet.store.queries import Dispatch, TaskState
    from fleet.store.transaction import Rows, Tx

# More than there are tasks.
_ALL = 1 << 60
ACCEPT: ReviewVerdict = "accept"
SEND_BACK: ReviewVerdict = "send back"
# For each verdict: its event in the table of task steps, the stage where the task continues, and the word in its log.
_EVENT: dict[ReviewVerdict, VerdictEvent] = {"accept": "accept", "send back": "send_back"}
_STAGE: dict[ReviewVerdict, str] = {"accept": "finisher", "send back": "fix"}
_LOGGED: dict[ReviewVerdict, str] = {"accept": "accepted", "send back": "sent back"}


def waiting(rows: Rows, project: str | None = None, *, most: int = _ALL) -> list[Waiting]:
    """Return the tasks that wait for a verdict and on which no agent works, most urgent first, at most `most`.

    They are of one project or, for None, of all.
    """
    queue = q.review_queue(rows, project=project, most=most)
    return [Waiting.made_of(row, changed_at=iso(row.changed_at)) for row in queue]


def verdicts(rows: Rows, project: str, slug: str) -> list[Judgement]:
    """Return all verdicts on a task, oldest first."""
    return [
        Judgement.made_of(row, at=iso(row.at), counted=bool(row.counted))
        for row in q.verdicts_of(rows, project=project, slug=slug)
    ]


def record_verdict(
    *, project: str, slug: str, verdict: ReviewVerdict, comments: str = "", work: str | None = None
) -> Change[VerdictView]:
    """Return the change that records a verdict of a person, or of the task's reviewer, on the commit `work`.

    `work` is None when the task has no branch. Repeating a verdict changes nothing. Raises BadInput for work that is
    sent back without comments, and for comments that are too long. Committing it raises IllegalStep when the task does
    not wait for a verdict, for example because another one was given before; Contested for a person while an agent
    works on the task; Superseded for an agent that is not the task's reviewer now.
    """
    names.project(project)
    names.slug(slug)
    text = texts.maybe("comments", comments.strip(), most=texts.MESSAGE)
    if verdict == SEND_BACK and not text:
        raise errors.BadInput(what="to send work back, say what has to change: --comments TEXT")
    status, stage = target(STEPS, _EVENT[verdict]), _STAGE[verdict]
    outcome = VerdictView(project=project, task=slug, verdict=verdict, status=status, stage=stage, changed=True)

    def write(tx: Tx) -> VerdictView:
        tx.about(project, slug)
        was = tasks.state(tx, project, slug)
        reviewer = _speaking_reviewer(tx, project, slug, was)
        if was.stage == stage and _is_repeated(tx, outcome, text):
            tx.note(repeated=True)
            return outcome.replaced(changed=False)
        _refuse_not_in_review(outcome, was, tx)
        _write_verdict(tx, outcome, text, was, work)
        if reviewer is not None:
            q.report_dispatch(tx, id=reviewer.id, report="done", reason=None, work=work, at=tx.at)
        tx.note(verdict=verdict, comments=text, status=status, stage=stage, commit=work)
        return outcome

    return Change(f"{verdict} {project}/{slug}", write, text, returns=VerdictView)


def _speaking_reviewer(tx: Tx, project: str, slug: str, was: TaskState) -> Dispatch | None:
    """Return the dispatch of the task's reviewer if that agent gives the verdict; None for a person.

    Raises Superseded for any other agent.
    """
    if tx.caller.dispatch is None:
        return None
    fence.check_agent(project, slug, was, tx.caller)
    row = q.dispatch_by_id(tx, id=tx.caller.dispatch)
    if row is None or not is_unfinished(row) or row.kind != "reviewer":
        now = "only its reviewer or a person may give a verdict"
        raise errors.Superseded(who=f"dispatch {tx.caller.dispatch}", project=project, slug=slug, now=now)
    return row


def _is_repeated(tx: Tx, outcome: VerdictView, text: str) -> bool:
    """Return whether the last verdict that counted on the task is the caller's, with the same verdict and comments."""
    before = [row for row in q.verdicts_of(tx, project=outcome.project, slug=outcome.task) if row.counted]
    if not before:
        return False
    last = before[-1]
    return (last.actor, last.verdict, last.comments) == (tx.caller.actor, outcome.verdict, text)


def _refuse_not_in_review(outcome: VerdictView, was: TaskState, tx: Tx) -> None:
    """Raise IllegalStep for a task that is not in review, Contested for a person while an agent works on the task."""
    project, slug = outcome.project, outcome.task
    if was.stage != "review" or (was.status, _EVENT[outcome.verdict]) not in STEPS:
        at = f"{was.status}, at the stage {was.stage}"
        advice = "`fleet review --list` shows what waits for a verdict"
        raise errors.IllegalStep(event="review", project=project, slug=slug, status=at, advice=advice)
    if was.attempted and tx.caller.dispatch is None:
        who = was.assignee
        raise errors.Contested(
            what=f"agent {who} works on {project}/{slug}; wait for it, or end it with `fleet stop {who}`"
        )


def _write_verdict(tx: Tx, outcome: VerdictView, text: str, was: TaskState, work: str | None) -> None:
    """Move the task to the status and stage that follow the verdict; add the verdict to the task's verdicts and log."""
    project, slug, actor = outcome.project, outcome.task, tx.caller.actor
    q.judge_task(
        tx,
        project=project,
        slug=slug,
        **change(STEPS, was.status, _EVENT[outcome.verdict]),
        stage=outcome.stage,
        reason=text if outcome.verdict == SEND_BACK else None,
        assignee=was.assignee,
        actor=actor,
        work=work,
        at=tx.at,
    )
    q.add_verdict(
        tx,
        project=project,
        slug=slug,
        seq=tx.seq,
        at=tx.at,
        actor=actor,
        verdict=outcome.verdict,
        comments=text,
        work=work,
        counted=1,
    )
    tasks.add_log_message(tx, project, slug, f"{_LOGGED[outcome.verdict]}{f': {text}' if text else ''}")


# comments of a verdict that does not count ------------------------------------------------------------------------------
class LateVerdict(Value):
    """A verdict that did not count, with its comments; `message` is an unused id for a message to the running agent."""

    project: str
    slug: str
    verdict: ReviewVerdict
    comments: str
    work: str | None
    message: str


def keep_comments(late: LateVerdict) -> Change[bool]:
    """Return the change that keeps the comments of a verdict that did not count.

    They go to the task's log, to the next agent's prompt, and as a message to an agent that works on the task now.
    Committing it returns False when the task was never under review, or the calling agent is not its reviewer. The same
    comments are kept only once.
    """

    def work(tx: Tx) -> bool:
        tx.about(late.project, late.slug)
        before = q.verdicts_of(tx, project=late.project, slug=late.slug)
        stage = tasks.state(tx, late.project, late.slug).stage
        if not (before or stage == "review") or not _may_comment(tx, late):
            return False
        if any((row.actor, row.comments) == (tx.caller.actor, late.comments) for row in before):
            return True
        q.add_verdict(
            tx,
            project=late.project,
            slug=late.slug,
            seq=tx.seq,
            at=tx.at,
            actor=tx.caller.actor,
            verdict=late.verdict,
            comments=late.comments,
            work=late.work,
            counted=0,
        )
        tasks.add_log_message(
            tx, late.project, late.slug, f"commented, beside the verdict ({late.verdict}): {late.comments}"
        )
        _send_comments(tx, late)
        tx.note(verdict=late.verdict, comments=late.comments, counted=False)
        return True

    return Change(f"keep comments on {late.project}/{late.slug}", work, late.comments)


def _may_comment(tx: Tx, late: LateVerdict) -> bool:
    """Return whether the caller is a person, or a reviewer of this very task."""
    if tx.caller.dispatch is None:
        return True
    row = q.dispatch_by_id(tx, id=tx.caller.dispatch)
    return row is not None and (row.kind, row.project, row.slug) == ("reviewer", late.project, late.slug)


def _send_comments(tx: Tx, late: LateVerdict) -> None:
    """Send the comments to the agent that is repairing the work now, if there is one."""
    running = _agent_at_work(tx, late)
    if running is not None:
        text = f"A reviewer of this work says, beside the verdict ({late.verdict}):\n{late.comments}"
        q.add_message(
            tx, id=late.message, dispatch=running, kind="message", sender=tx.caller.actor, text=text, at=tx.at
        )


def _agent_at_work(rows: Rows, late: LateVerdict) -> str | None:
    """Return the dispatch id of the worker, fix or rebase agent that runs on the verdict's task; None when none does."""
    attempt = q.unfinished_of_task(rows, project=late.project, slug=late.slug)
    return attempt.id if attempt is not None and attempt.kind in WORKING else None
