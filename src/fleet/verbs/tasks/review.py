"""Review: what waits for a verdict, and the verdict. Accepted, the work goes on to be merged; sent back, it waits to be mended."""

from __future__ import annotations

from fleet.errors.families import BadInput, Contested, Superseded
from fleet.errors.refused import IllegalStep
from fleet.model import names
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.tasks import fence
from fleet.model.text import texts
from fleet.model.text.times import iso
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.store.queries import Dispatch, TaskState
    from fleet.store.transaction import Row, Rows, Tx

ACCEPT, SEND_BACK = "accept", "send back"
_AFTER = {ACCEPT: ("in_progress", "finisher"), SEND_BACK: ("blocked", "fix")}


def waiting(rows: Rows) -> list[dict[str, Any]]:
    """What waits for a verdict, in all projects, most urgent first."""
    return [{**row, "changed_at": iso(row.changed_at)} for row in q.review_queue(rows)]


def verdicts(rows: Rows, project: str, slug: str) -> list[dict[str, Any]]:
    """What was said of a task's work before."""
    return [{**row, "at": iso(row.at)} for row in q.verdicts_of(rows, project=project, slug=slug)]


def judge(*, project: str, slug: str, verdict: str, comments: str = "", work: str | None = None) -> Change[Row]:
    """Give a verdict on a commit (`work`), as a person or as the task's reviewer. The first counts; the same again is fine."""
    names.project(project)
    names.slug(slug)
    said = texts.maybe("comments", comments.strip(), most=texts.MESSAGE)
    if verdict == SEND_BACK and not said:
        raise BadInput(what="to send work back, say what is to be done: --comments TEXT")

    def write(tx: Tx) -> Row:
        tx.about(project, slug)
        was = tasks.state(tx, project, slug)
        reviewer = _reviewer(tx, project, slug, was)
        status, stage = _AFTER[verdict]
        if _is_repeated(tx, project, slug, verdict, said, stage=was.stage):
            tx.note(repeated=True)
            return _result(project, slug, verdict, status, stage, changed=False)
        _refuse_elsewhere(project, slug, was, tx)
        _write(tx, (project, slug), was, (verdict, said, status, stage), work)
        if reviewer is not None:
            q.report_dispatch(tx, id=reviewer.id, report="done", reason=None, work=work, at=tx.at)
        tx.note(verdict=verdict, comments=said, status=status, stage=stage, commit=work)
        return _result(project, slug, verdict, status, stage, changed=True)

    return Change(f"{verdict} {project}/{slug}", write, said)


def _reviewer(tx: Tx, project: str, slug: str, was: TaskState) -> Dispatch | None:
    """The agent that is speaking; it has to be the task's reviewer. None for a person."""
    if tx.caller.dispatch is None:
        return None
    fence.check_agent(project, slug, was, tx.caller)
    row = q.dispatch_by_id(tx, id=tx.caller.dispatch)
    if row is None or not is_unfinished(row) or row.kind != "reviewer":
        now = "only its reviewer, or a person, says what becomes of it"
        raise Superseded(who=f"dispatch {tx.caller.dispatch}", project=project, slug=slug, now=now)
    return row


def _is_repeated(tx: Tx, project: str, slug: str, verdict: str, said: str, *, stage: str) -> bool:
    """Whether the last word on it was this one, by the same, and nothing has happened since."""
    before = q.verdicts_of(tx, project=project, slug=slug)
    if not before or stage != _AFTER[verdict][1]:
        return False
    last = before[-1]
    return (last.actor, last.verdict, last.comments) == (tx.caller.actor, verdict, said)


def _refuse_elsewhere(project: str, slug: str, was: TaskState, tx: Tx) -> None:
    """Refuse a verdict on what is not under review, and a person's while an agent is at it."""
    if was.stage != "review" or was.status not in {"in_progress", "blocked", "open"}:
        at = f"{was.status}, at the stage {was.stage}"
        advice = "`fleet review --list` shows what waits for a verdict"
        raise IllegalStep(event="review", project=project, slug=slug, status=at, advice=advice)
    if was.attempted and tx.caller.dispatch is None:
        who = was.assignee
        raise Contested(what=f"{project}/{slug} is with agent {who}; wait for it, or end it with `fleet stop {who}`")


def _write(tx: Tx, task: tuple[str, str], was: TaskState, judged: tuple[str, str, str, str], work: str | None) -> None:
    project, slug = task
    verdict, said, status, stage = judged
    place = {"project": project, "slug": slug}
    q.judge_task(
        tx,
        **place,
        status=status,
        stage=stage,
        reason=said if verdict == SEND_BACK else None,
        was=was.status,
        assignee=was.assignee,
        actor=tx.caller.actor,
        work=work,
        at=tx.at,
    )
    said_of = {"actor": tx.caller.actor, "verdict": verdict, "comments": said, "work": work}
    q.add_verdict(tx, **place, seq=tx.seq, at=tx.at, **said_of)
    tasks.say(tx, project, slug, f"{_TOLD[verdict]}{f': {said}' if said else ''}")


_TOLD = {ACCEPT: "accepted", SEND_BACK: "sent back"}


def _result(project: str, slug: str, verdict: str, status: str, stage: str, *, changed: bool) -> Row:
    head = {"project": project, "task": slug, "verdict": verdict, "status": status, "stage": stage}
    return head | {"changed": changed}
