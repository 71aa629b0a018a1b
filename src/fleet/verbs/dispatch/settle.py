"""Settle: end a dispatch whose death is proven.

Only two others end a dispatch: a finisher ends its own, as soon as its merge is over (merge/finisher.py), and a person
ends one of another home or host without proof, by disowning it (homes/disown.py).
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import task_branch
from fleet.model.dispatch.remedies import Settle, may_settle, remedy_for
from fleet.model.dispatch.settling import Evidence, Outcome, outcome
from fleet.model.dispatch.steps import (
    EXEC_STEPS,
    INTERRUPTED,
    STOPPED,
    is_asked_to_exit,
    is_in_flight,
    is_pending,
    is_unfinished,
)
from fleet.model.identity import Identity
from fleet.model.results.dispatches import Ended
from fleet.model.tables import change
from fleet.model.tasks.pipeline import WORKING, after_work
from fleet.model.tasks.steps import STEPS as TASK_STEPS
from fleet.model.text import escapes
from fleet.model.text.times import HOUR, duration
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change
from fleet.verbs.agents.cost.count_tokens import count_ended
from fleet.verbs.dispatch.facts import facts_about_end
from fleet.verbs.dispatch.journal import archived_dispatch
from fleet.verbs.dispatch.reclaim import reclaim
from fleet.world.home import paths
from fleet.world.home.uncommitted import describe_forgotten, uncommitted_work

if TYPE_CHECKING:
    from fleet.model.dispatch.remedies import Seen
    from fleet.model.states import ExecState, TaskStatus
    from fleet.store.queries import Dispatch
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.world.tmux import Listing, Pane

# How many bytes of an agent's output are kept.
LOG_BYTES = 2_000_000
CHANGED = "other processes kept changing it; try again"
# How often to try to settle a dispatch whose row other processes change meanwhile.
_TRIES = 3
# The event in the table of task steps that leads from in_progress to each status.
_EVENT: dict[TaskStatus, str] = {"open": "unclaim", "in_progress": "go_on", "blocked": "block", "failed": "fail"}
# How often, and how many seconds apart, to ask tmux for the exit status of a dead agent.
_LOOKS = 50
_BETWEEN_LOOKS = 0.02


def settle(
    context: Context,
    ident: str,
    *,
    listing: Listing | None = None,
    why: str = "",
    undo: bool = False,
    dismiss: bool = False,
    reclaims: bool = True,
    known: Seen | None = None,
) -> Ended:
    """End a dispatch if its death is proven, and reclaim its claims; otherwise return why it is not settled.

    `why` is the reason recorded for a dispatch that was never launched. `undo`: the dispatcher itself gives up, so a
    pending dispatch is ended without proof; a session that starts later finds it ended and exits. `dismiss`: also end a
    coordinator that the living daemon runs; what its tick commits after that is refused. Without `reclaims`, the caller
    reclaims the claims later, or a sweep does if the caller dies. `known` are facts that the caller has gathered; they
    are used only if they prove a death, which cannot change any more. `listing` are tmux's panes; with None, they are
    read when needed. For a dispatch that has ended before, the result is how it ended. Raises NoSuchDispatch for an
    unknown id.
    """
    for _ in range(_TRIES):
        try:
            row = context.dispatch(ident)
        except errors.NoSuchDispatch:
            return _ended_before(context, ident)
        seen = None if undo and is_pending(row) else _facts_about_end(context, row, listing, known)
        if seen is not None and not _may_end(seen, dismiss=dismiss):
            strangers, way = seen.strangers or None, seen.way or None
            return Ended(id=ident, settled=False, why=seen.why, strangers=strangers, way=way)
        state = _end_dead(context, row, why)
        if state is not None:
            left = reclaim(context, ident) if reclaims else []
            return Ended(id=ident, settled=True, exec_state=state, left=left)
    return Ended(id=ident, settled=False, why=CHANGED)


def _may_end(seen: Seen, *, dismiss: bool) -> bool:
    """Return whether the dispatch may be ended.

    True when it has ended before, when its death is proven, and, with `dismiss`, when it is a coordinator that the
    living daemon plays.
    """
    is_dismissed = dismiss and seen.is_daemon_duty and seen.condition == "alive"
    return seen.condition == "ended" or is_dismissed or isinstance(remedy_for("settle", seen), Settle)


def _facts_about_end(context: Context, row: Dispatch, listing: Listing | None, known: Seen | None) -> Seen:
    """Return `known` if it proves that a launched dispatch is dead and left no process; else gather new facts.

    A dispatch that was not launched is looked at again: it may have started meanwhile. `known` is None when no facts
    were gathered before; `listing` are tmux's panes, read when needed if it is None.
    """
    proven = known is not None and known.condition == "dead" and may_settle(known) and is_in_flight(row)
    return known if known is not None and proven else facts_about_end(context, row, listing)


def _ended_before(context: Context, ident: str) -> Ended:
    """Return how a dispatch ended that another process has settled and archived.

    Raises NoSuchDispatch when it is not in the archive.
    """
    journal = archived_dispatch(context, ident)
    if journal is None:
        raise errors.NoSuchDispatch(dispatch=ident)
    return Ended(id=ident, settled=True, exec_state=journal.exec_state, left=[])


def _end_dead(context: Context, row: Dispatch, why: str) -> ExecState | None:
    """Record the end of a dispatch that is proven dead; return its final state, or None when its row changed meanwhile.

    First saves the agent's output, counts its last tokens, and reads its exit status and its branch. `why` is the
    reason recorded for a dispatch that was never launched.
    """
    if not is_unfinished(row):
        return row.exec_state
    pane = _wait_for_exit_status(context, row)
    _save_output(context, row, pane)
    count_ended(context, row)
    work = _branch_commit(context, row)
    end = outcome(_evidence_of_end(context, row, pane, why, work))
    forgotten = _forgotten_work(context, row, end, work)
    return end.exec_state if context.commit(_record_end(row, end, pane, context, work, forgotten=forgotten)) else None


def why_worktree_busy(context: Context, ident: str) -> errors.WorktreeBusy | None:
    """Return the error WorktreeBusy if unknown processes work in a dead agent's worktree; otherwise None."""
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
    if row is None or not is_in_flight(row) or row.slug is None:
        return None
    seen = facts_about_end(context, row)
    if not seen.strangers:
        return None
    return errors.WorktreeBusy(project=row.project, slug=row.slug, who=seen.strangers, way=seen.way)


def _wait_for_exit_status(context: Context, row: Dispatch) -> Pane | None:
    """Wait a moment until tmux knows the agent's exit status, and return the agent's pane; None when there is no pane.

    tmux notices a death a moment after the kernel, and versions before 3.5 sometimes lose the signal. So tmux is
    signalled again until it notices.
    """
    for _ in range(_LOOKS):
        listing = context.world.tmux.listing()
        pane = listing.pane_of(row.id)
        if pane is None or pane.status is not None or listing.server is None or not is_in_flight(row):
            return pane
        context.world.processes.signal(listing.server, signal.SIGCHLD)
        context.world.clock.wait(_BETWEEN_LOOKS)
    return pane


def _evidence_of_end(context: Context, row: Dispatch, pane: Pane | None, why: str, work: str | None) -> Evidence:
    """Return the evidence that decides how the dispatch ends: report, exit status, request to exit, boot, work.

    `pane` is its pane in tmux, None when there is none; `why` the reason for a dispatch that was never launched; `work` the
    commit of the task's branch, None when there is none.
    """
    process = Identity.parse(row.process or "")
    return Evidence(
        launched=is_in_flight(row),
        report=row.report,
        report_reason=row.report_reason,
        exit_status=pane.status if pane and pane.dead else None,
        asked_for=row.asked_for,
        asked_reason=row.asked_reason,
        other_boot=process is not None and process.boot != context.world.host.boot,
        work=_has_work(context, row, work),
        why_not_launched=why or "it was never launched",
    )


def _branch_commit(context: Context, row: Dispatch) -> str | None:
    """Return the commit of the task's branch; None when there is no branch, no task, or git does not answer."""
    if row.slug is None:
        return None
    branch = task_branch(row.slug)
    try:
        return context.world.git.branches(context.project(row.project).path, branch).get(branch)
    except errors.GitRefused:
        return None


def _has_work(context: Context, row: Dispatch, work: str | None) -> bool:
    """Return whether the dispatch left work: new commits on the task's branch, or artifacts that it registered.

    `work` is the commit of the task's branch, None when it is not known.
    """
    if row.slug is None:
        return False
    slug = row.slug
    artifacts = context.store.read(lambda rows: q.task_artifacts(rows, project=row.project, slug=slug))
    if any(artifact.actor == row.id for artifact in artifacts):
        return True
    repository = context.project(row.project).path
    return bool(row.base and work and context.world.git.commits(repository, row.base, work))


def _forgotten_work(context: Context, row: Dispatch, end: Outcome, work: str | None) -> str:
    """Return the sentence which says that an agent reported done with changed files and without a commit.

    Returns "" in all other cases, also when the agent said why it leaves the files uncommitted, and when git cannot
    tell.
    """
    if end.exec_state != "done" or row.kind not in WORKING or row.slug is None or row.base is None or work is None:
        return ""
    slug, world = row.slug, context.world
    if world.git.commits(context.project(row.project).path, row.base, work) != []:
        return ""
    state = context.store.read(lambda rows: tasks.state(rows, row.project, slug))
    if state.left_uncommitted is not None:
        return ""
    files = uncommitted_work(world.home, context.project(row.project), slug, world.funnel)
    return describe_forgotten(slug, files) if files else ""


def _save_output(context: Context, row: Dispatch, pane: Pane | None) -> None:
    """Save the text of the agent's pane as a log file, before its session is removed.

    Does nothing without a pane (None).
    """
    if pane is None:
        return
    text = context.world.tmux.capture(pane, history=True)
    if text is not None:
        lines = "\n".join(line.rstrip() for line in text.rstrip().splitlines())
        text = escapes.tail(f"{lines}\n", LOG_BYTES) if lines else ""
        context.world.files.publish(paths.log(row.id), text.encode())


def _record_end(
    row: Dispatch, end: Outcome, pane: Pane | None, context: Context, work: str | None, *, forgotten: str = ""
) -> Change[bool]:
    """Return the change that ends the dispatch and moves its task on; committing it returns False if the row has changed.

    `work` is the commit of the task's branch, None when it is not known. `forgotten` is the sentence that the agent
    left its work uncommitted, "" when it did not. `pane` is the agent's tmux pane, None when it has none.
    """
    ident = row.id
    status = pane.status if pane and pane.dead else None
    most_failures = context.settings().limits_failed_spawns
    cooldown = duration(context.settings().spawn_cooldown)
    review = context.settings(row.project).review

    def write(tx: Tx) -> bool:
        tx.about(row.project, row.slug)
        tx.dispatch = ident
        ended = q.end_dispatch(
            tx,
            id=ident,
            **change(EXEC_STEPS, row.exec_state, f"settled_{end.exec_state}"),
            report=row.report,
            asked_for=row.asked_for,
            exit_status=status,
            reason=end.reason,
            work=work,
            at=tx.at,
        )
        if not ended:
            return False
        q.archive_agent(tx, id=ident, at=tx.at)
        freed = settle_task(tx, row, end, (most_failures, cooldown, review), work, forgotten=forgotten)
        tx.note(exec_state=end.exec_state, reason=end.reason, asked_for=row.asked_for, commit=work, ready=freed)
        return True

    return Change(f"settle {ident}: {end.exec_state}{f' ({end.reason})' if end.reason else ''}", write)


def settle_task(
    tx: Tx,
    row: Dispatch,
    end: Outcome,
    settings: tuple[int, int, str | None],
    work: str | None,
    *,
    forgotten: str = "",
) -> list[str]:
    """Move the task to its next status and stage after an attempt, if the task is still assigned to that dispatch.

    Does nothing for a coordinator or a finisher. Returns the slugs of tasks that have become ready. `settings` are the
    values of limits.failed_spawns, spawn_cooldown (milliseconds) and review. `work` is the commit of the task's branch,
    None when it is not known. `forgotten` is the sentence that the agent left its work uncommitted, for which the task
    is blocked at the stage `fix`; "" when it did not.
    """
    most_failures, cooldown, review = settings
    if row.slug is None or row.kind == "finisher":
        return []
    if is_pending(row) and row.handoffs and row.predecessor:
        # This successor never started: give its messages back, for the next successor of the same predecessor.
        q.inherit_messages(tx, dispatch=row.predecessor, predecessor=row.id)
    project, slug = row.project, row.slug
    status, reason, stage = _task_after_attempt(tx, row, end, most_failures, review)
    if forgotten:
        status, reason, stage = "blocked", forgotten, "fix"
    stepped = change(TASK_STEPS, "in_progress", _EVENT[status])
    tx.note(stage=stage)
    moved = q.settle_task(
        tx,
        project=project,
        slug=slug,
        id=row.id,
        **stepped,
        stage=stage,
        assignee=None if status == "open" else row.id,
        reason=reason,
        work=work if end.exec_state == "done" and row.kind in WORKING else None,
        not_before=tx.at + cooldown if status == "open" else None,
        ended_at=tx.at if status == "failed" else None,
        at=tx.at,
    )
    return tasks.update_dependents(tx, project, slug, **stepped) if moved else []


def _task_after_attempt(
    tx: Tx, row: Dispatch, end: Outcome, most_failures: int, review: str | None
) -> tuple[TaskStatus, str | None, str | None]:
    """Return the task's status after this attempt, the reason, and the stage at which it continues; None for no reason or stage."""
    if is_pending(row) and row.asked_for == "stop":
        return "blocked", STOPPED, None
    if is_pending(row) and not is_asked_to_exit(row):
        return *_status_after_failed_start(tx, row, end.reason or "", most_failures), None
    if end.handed_off:
        return "in_progress", None, None
    if row.kind == "reviewer":
        return *_after_review(tx, row, end), None
    if end.exec_state == "done":
        return "in_progress", end.reason, after_work(row.kind, review)
    return end.exec_state, end.reason, None


def _after_review(tx: Tx, row: Dispatch, end: Outcome) -> tuple[TaskStatus, str | None]:
    """Return the task's status and reason after a review.

    The task stays in progress when a verdict has moved it to another stage; without a verdict it is blocked.
    """
    if tasks.state(tx, row.project, row.slug or "").stage != "review":
        return "in_progress", None
    return "blocked", f"the review ended without a verdict{f': {end.reason}' if end.reason else ''}"


def _status_after_failed_start(tx: Tx, row: Dispatch, why: str, most_failures: int) -> tuple[TaskStatus, str | None]:
    """Record that an attempt at the task did not start. Returns the task's next status and the reason.

    The status is `open`; but `blocked` when the start was a resume, or when at least `most_failures` starts of the task
    failed within an hour.
    """
    place = {"project": row.project, "slug": row.slug or ""}
    q.add_spawn_failure(tx, **place, dispatch=row.id, at=tx.at, why=why)
    if row.resumes:
        return "blocked", f"{INTERRUPTED}: its resume did not start: {why}"
    count = q.count_spawn_failures(tx, **place, since=tx.at - HOUR).n
    if count >= most_failures:
        return "blocked", f"{count} failed starts within an hour, the last: {why}"
    return "open", f"the last start failed: {why}"
