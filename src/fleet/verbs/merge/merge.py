"""Merge: bring a task's work into the integration branch, in a worktree of fleet's own, one at a time.

A finisher is a dispatch like any other, but its process is this one. The branch is moved by compare-and-set, and a task counts as
merged only when git says so; killed anywhere, the next merge or sweep reads git and goes on.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fleet.errors.families import Contested, FleetError, Refused
from fleet.errors.refused import IllegalStep, NotMergeable, NotTrusted, WorkMoved
from fleet.errors.tools import GitRefused
from fleet.model.branches import head_ref, task_branch, task_ref
from fleet.model.dispatch.steps import EXEC_STEPS, owner
from fleet.model.tables import change
from fleet.model.text.times import HOUR, SECOND, duration
from fleet.resources import KINDS
from fleet.resources.kind import Order
from fleet.store import bundles, tasks
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.dispatch.acquire import acquire, intent
from fleet.verbs.dispatch.reclaim import reclaim, release_bundle
from fleet.verbs.homes.ownership import note_home, refuse_foreign_bundle
from fleet.verbs.merge.branches import follow, integration_branch, refuse_checked_out
from fleet.verbs.merge.merge_tree import merge_commit, refuse_changed_tree, tree_state
from fleet.verbs.merge.named_commit import refuse_moved
from fleet.verbs.merge.recorded import refuse_missing
from fleet.verbs.sweep import trash
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim
    from fleet.store.queries import Dispatch, TaskState
    from fleet.store.transaction import Row, Tx
    from fleet.verbs.context import Context

_LISTED = 5


def merge(context: Context, project: str, slug: str) -> dict[str, Any]:
    """Merge the commit that a task's report and review speak of. A conflict or a red verify parks the task with the reason."""
    with context.world.project_gate(project, "merge"):
        repository = context.project(project).path
        refuse_foreign_bundle(context, project, slug)
        refuse_missing(context, project)
        integration, _tip = integration_branch(context, project, repository)
        base = follow(context, project, repository)
        state = context.store.read(lambda rows: tasks.state(rows, project, slug))
        tip = context.world.git.resolve(repository, task_ref(slug))
        _refuse_unfinished(project, slug, state)
        if state.merged and state.archived:
            known = {"project": project, "task": slug, "commit": state.merged}
            return known | {"changed": False, "left": [], "aside": []}
        refuse_checked_out(context, repository, integration)
        park_moved(context, project, slug, state, tip)
        if tip is None or context.world.git.contains(repository, integration, tip):
            gone = _branch_gone(slug, state) if tip is None else ""
            elsewhere = (
                gone or astray(context, project, slug, repository, integration) or _unsaved(context, project, slug)
            )
            if tip is None and (state.archived or (state.status == "done" and not elsewhere)):
                raise _without_branch(project, slug)
            if elsewhere or tip is None:
                why = elsewhere or f"there is no branch {task_branch(slug)}"
                park_task(context, project, slug, state, why)
                raise _unmergeable(project, slug, why)
            order = order_for(context, project, slug, repository, (integration, base, tip))
            return _found_merged(context, order, base) | {"changed": False}
        order = order_for(context, project, slug, repository, (integration, base, tip))
        return _finish(context, order, tip, state)


def _branch_gone(slug: str, state: TaskState) -> str:
    """Say where the work of a task is whose branch somebody deleted; empty when no commit of it is known."""
    if state.work is None or state.archived:
        return ""
    work = state.work[:12]
    return f"{task_branch(slug)} is gone; its work is at {work}: `git branch {task_branch(slug)} {work}` puts it back"


def _found_merged(context: Context, order: Order, tip: str) -> dict[str, Any]:
    """Record work that git finds on the integration branch: merged by a person, or by a finisher that died before it said so."""
    context.world.proofs.keep(order.repository, order.integration, tip)
    return _merged(context, order.project, order.slug or "", tip, order, made=order.work)


def park_moved(context: Context, project: str, slug: str, state: TaskState, tip: str | None) -> None:
    """Send a task whose branch is not at its named commit back to review: nobody has looked at what is there now."""
    try:
        refuse_moved(context, project, slug, state, tip)
    except WorkMoved as error:
        park_task(context, project, slug, state, str(error), stage="review")
        raise


def astray(context: Context, project: str, slug: str, repository: str, integration: str) -> str:
    """Why a task whose branch has nothing new is not just called merged: its agent has committed elsewhere. Empty: it has not."""
    path = f"{context.world.home}/{paths.worktree(project, slug)}"
    trees = context.world.git.worktrees(repository)
    if trees is None:
        raise GitRefused(what=f"say what the worktree of {slug} has", why="it does not list the worktrees")
    for tree in trees:
        if os.path.realpath(tree.path) != os.path.realpath(path) or tree.branch == task_branch(slug):
            continue
        commits = context.world.git.commits(repository, head_ref(integration), tree.head)
        if commits is None:
            return "git does not say what its worktree has"
        if commits:
            where = f"the branch {tree.branch}" if tree.branch else "no branch"
            return f"its worktree is on {where}, with work that {task_branch(slug)} does not have"
    return ""


def _unsaved(context: Context, project: str, slug: str) -> str:
    """The same for an agent that has committed nothing at all."""
    path = f"{context.world.home}/{paths.worktree(project, slug)}"
    if not os.path.isdir(path):
        return ""
    if context.world.git.is_dirty(path) is None:
        return f"git does not say whether {path} has uncommitted work"
    files = context.world.git.uncommitted(path)
    more = f" and {len(files) - _LISTED} more" if len(files) > _LISTED else ""
    listed = ", ".join(line[3:] for line in files[:_LISTED]) + more
    return (
        f"nothing new is committed on {task_branch(slug)}, but its worktree has uncommitted work: {listed}"
        if files
        else ""
    )


def _without_branch(project: str, slug: str) -> NotMergeable:
    """It is done, and stays so."""
    advice = f"it was done without an agent, or its branch is gone: `fleet task show {slug} -p {project}`"
    why = f"there is no branch {task_branch(slug)}"
    return NotMergeable(project=project, slug=slug, why=why, advice=advice, stage="finisher")


def _unmergeable(project: str, slug: str, why: str) -> NotMergeable:
    advice = f"bring its work onto {task_branch(slug)}, then `fleet task retry {slug} -p {project}`"
    return NotMergeable(project=project, slug=slug, why=why, advice=advice, stage="finisher")


def park_task(context: Context, project: str, slug: str, was: TaskState, why: str, *, stage: str = "finisher") -> None:
    """Block a task with the reason, at the stage that can go on with it, so that the next one can be merged."""

    def work(tx: Tx) -> Row:
        tx.about(project, slug)
        place = {"project": project, "slug": slug}
        same = is_as(tasks.state(tx, **place), was)
        if same:
            tasks.park(tx, **place, was=was.status, stage=stage, reason=why, message=f"not merged: {why}")
        tx.note(reason=why)
        return {"parked": same}

    context.commit(Change(f"{project}/{slug} cannot be merged", work))


def _refuse_unfinished(project: str, slug: str, state: TaskState) -> None:
    """Only work at its last stage is merged, or what a person called done."""
    if _is_finished(state):
        return
    waits = state.status == "in_progress" and state.stage == "review"
    advice = f"it waits for review: `fleet review {slug} -p {project}`" if waits else "only work that is done is merged"
    raise IllegalStep(event="merge", project=project, slug=slug, status=state.status, advice=advice)


def _is_finished(state: TaskState) -> bool:
    return state.status == "done" or (state.status in {"in_progress", "open"} and state.stage == "finisher")


def _finish(context: Context, order: Order, tip: str, was: TaskState) -> dict[str, Any]:
    project, slug = order.project, order.slug or ""
    claim = intent(context, KINDS["merge_tree"], order)
    context.commit(begin(context, order, claim))
    try:
        acquire(context, [claim], order)
        made = merge_and_verify(context, order, claim, tip)
        _refuse_changed(context, project, slug, was)
        if not context.world.proofs.move_and_keep(order.repository, order.integration, new=made, old=order.base or ""):
            raise Refused(what=f"the branch {order.integration} moved meanwhile; nothing was merged, try again")
    except KeyboardInterrupt:
        context.commit(end_finisher(order, "failed", "interrupted", was=was))
        reclaim(context, order.dispatch)
        raise
    except (FleetError, OSError) as error:
        stage = str(error.facts["stage"]) if isinstance(error, NotMergeable) else None
        most = context.setting("limits.failed_spawns")
        context.commit(end_finisher(order, "failed", str(error), park=stage, most=most, was=was))
        reclaim(context, order.dispatch)
        raise
    context.commit(end_finisher(order, "done", None))
    reclaim(context, order.dispatch)
    return _merged(context, project, slug, made, order)


def _refuse_changed(context: Context, project: str, slug: str, was: TaskState) -> None:
    """What somebody decided about the task while it was being merged counts."""
    now = context.store.read(lambda rows: tasks.state(rows, project, slug))
    if not is_as(now, was):
        raise Refused(what=f"{project}/{slug} was changed meanwhile, it is {now.status} now; nothing was merged")


def is_as(now: TaskState, was: TaskState) -> bool:
    """Whether nobody has decided about a task meanwhile."""
    return all(now[name] == was[name] for name in ("status", "stage", "assignee", "work"))


def order_for(context: Context, project: str, slug: str, repository: str, refs: tuple[str, str, str]) -> Order:
    """What a finisher needs made for it."""
    integration, base, work = refs
    return Order(
        dispatch=context.world.ids.dispatch(),
        kind="finisher",
        project=project,
        slug=slug,
        repository=repository,
        branch=task_branch(slug),
        base=base,
        work=work,
        integration=integration,
        git_limit=duration(context.setting("git_limit")) / SECOND,
    )


def begin(context: Context, order: Order, claim: Claim) -> Change[Row]:
    """The finisher's journal: in flight at once, because its process is this one."""
    me = str(context.world.processes.me())

    def work(tx: Tx) -> Row:
        tx.about(order.project, order.slug)
        tx.dispatch = order.dispatch
        if not q.reserve_id(tx, id=order.dispatch, at=tx.at):
            raise Contested(what=f"the id {order.dispatch} was given out before; try again")
        note_home(tx, context.world)
        written = q.add_dispatch(
            tx,
            id=order.dispatch,
            kind="finisher",
            project=order.project,
            slug=order.slug,
            owner=owner(project=order.project, slug=order.slug),
            host=context.world.host.id,
            home=context.world.record.id,
            tmux_socket=context.world.tmux.socket,
            at=tx.at,
            spawner=me,
            server=None,
            engine=None,
            autonomy=None,
            model=None,
            command=None,
            base=order.base,
            predecessor=None,
        )
        if not written:
            raise Refused(what=f"{order.project}/{order.slug} has an agent at work; merge it when that has ended")
        q.launch_dispatch(tx, id=order.dispatch, process=me, at=tx.at, **change(EXEC_STEPS, "pending", "launched"))
        bundles.add_claim(tx, claim)
        tx.note(kind="finisher", integration=order.integration, base=order.base)
        return {"id": order.dispatch}

    return Change(f"merge {order.project}/{order.slug} as {order.dispatch}", work)


def merge_and_verify(context: Context, order: Order, claim: Claim, work: str) -> str:
    """Merge a commit in a finisher's tree, and let the verify command pass there. Return the commit that the merge made."""
    lock = context.world.effect_lock(claim.id)
    handle = lock.take()
    try:
        conflict = context.world.git.merge(claim.name, work, f"Merge {order.slug}", lock=handle)
        if conflict is not None:
            why = f"conflict in {', '.join(conflict)}"
            advice = f"`fleet task retry {order.slug}` lets an agent bring it up to date"
            raise NotMergeable(project=order.project, slug=order.slug, why=why, advice=advice, stage="rebase")
        made = merge_commit(context, order, claim.name, work)
        before = tree_state(context, claim.name)
        if _verify(context, order, claim.name):
            refuse_changed_tree(context, order, claim.name, made, before)
    finally:
        processes = context.world.processes
        processes.kill_all(processes.marked(order.dispatch))  # what verify left in the background
        lock.give()
    return made


def _verify(context: Context, order: Order, path: str) -> bool:
    """Run the verify command on the merged tree; a red one is NotMergeable. False when there is none."""
    task = context.store.read(lambda rows: q.task_whole(rows, project=order.project, slug=order.slug)) or {}
    told = task.get("verify") or _verify_of_project(context, order)
    if not told:
        return False
    limit = duration(context.setting("verify_limit", order.project)) / SECOND
    # It carries the finisher's mark: if that one is killed, a sweep finds what it left at work.
    env = {**os.environ, "FLEET_HOME": context.world.home, "FLEET_DISPATCH_ID": order.dispatch}
    log = f"{context.world.home}/{paths.log(order.dispatch, 'verify')}"
    done = context.world.programs.record("verify", ["/bin/sh", "-c", told], path=log, limit=limit, cwd=path, env=env)
    if not done.ok:
        output = f"{done.out}\n{done.err}".replace("\0", "").strip()
        said = f"verify is red ({told!r} gave {done.status}):\n{output}"
        advice = f"`fleet task retry {order.slug}` lets an agent mend it"
        raise NotMergeable(project=order.project, slug=order.slug, why=said, advice=advice, stage="fix")
    return True


def _verify_of_project(context: Context, order: Order) -> str | None:
    """The project's command. One that nobody has trusted is neither run nor skipped: the task waits for a person."""
    try:
        found: str | None = context.setting("verify", order.project)
    except NotTrusted as error:
        advice = f"look at it with `fleet trust -p {order.project}`, then `fleet task retry {order.slug}`"
        why = f"its verify command is not trusted: {error}"
        raise NotMergeable(project=order.project, slug=order.slug, why=why, advice=advice, stage="finisher") from None
    return found


def end_finisher(
    order: Order,
    state: str,
    reason: str | None,
    *,
    park: str | None = None,
    most: int = 0,
    was: TaskState | None = None,
) -> Change[Row]:
    """The finisher ends; parked, the task waits for the stage that can mend it, or for a person when it failed too often.

    A task that is not as it was is parked by nobody: somebody has decided about it meanwhile.
    """

    def work(tx: Tx) -> Row:
        tx.about(order.project, order.slug)
        tx.dispatch = order.dispatch
        common = {
            "id": order.dispatch,
            "report": None,
            "asked_for": None,
            "exit_status": None,
            "work": order.work or None,
            "at": tx.at,
        }
        ended = q.end_dispatch(tx, **common, **change(EXEC_STEPS, "in_flight", f"settled_{state}"), reason=reason)
        place = {"project": order.project, "slug": order.slug or ""}
        same = was is not None and is_as(tasks.state(tx, **place), was)
        stage = (park or (_too_often(tx, order, reason or "", most) if most else None)) if same else None
        if stage and was is not None:
            tasks.park(tx, **place, was=was.status, stage=stage, reason=reason, message=f"not merged: {reason}")
        tx.note(exec_state=state, reason=reason, stage=stage)
        return {"ended": ended}

    return Change(f"end finisher {order.dispatch}: {state}", work)


def _too_often(tx: Tx, order: Order, why: str, most: int) -> str | None:
    """A merge that could not be tried is tried again, but not for ever."""
    place = {"project": order.project, "slug": order.slug}
    q.add_spawn_failure(tx, **place, dispatch=order.dispatch, at=tx.at, why=why)
    count = q.count_spawn_failures(tx, **place, since=tx.at - HOUR) or {"n": 0}
    return "finisher" if count["n"] >= most else None


def _merged(
    context: Context, project: str, slug: str, commit: str, order: Order | None = None, *, made: str = ""
) -> dict[str, Any]:
    """Git says so: write it down, archive the task, let its worktree go.

    `order` names what was merged into the integration branch; None for work that was merged elsewhere. `made` is the commit that
    has to stay on that branch: the merge commit, unless said otherwise.
    """

    def work(tx: Tx) -> Row:
        tx.about(project, slug)
        moved, freed = tasks.merge(tx, project, slug, commit)
        if moved and order is not None:
            _record(tx, project, slug, made or commit, order)
        archived = q.archive_task(tx, project=project, slug=slug, at=tx.at)
        tx.note(merged=commit, archived=archived == 1, ready=freed)
        return {"archived": archived == 1}

    context.commit(Change(f"{project}/{slug} is merged as {commit[:12]}", work))
    left = release_bundle(context, project, slug)
    last = context.store.read(lambda rows: q.last_of_task(rows, project=project, slug=slug))
    if last is not None:
        left = reclaim(context, last.id) or left
    aside = trash.announced(context, project, slug)
    return {"project": project, "task": slug, "commit": commit, "changed": True, "left": left, "aside": aside}


def _record(tx: Tx, project: str, slug: str, made: str, order: Order) -> None:
    """Record the merge, so that whoever opens the project can see whether it is still there."""
    facts = {"integration": order.integration, "made": made, "work": order.work, "base": order.base or ""}
    q.add_merge(tx, seq=tx.seq, project=project, slug=slug, at=tx.at, **facts)


def _is_merged_by_git(context: Context, row: Dispatch, work: str | None) -> bool:
    """Whether git says that a task's commit is in the integration branch."""
    repository = context.project(row.project).path
    integration = context.setting("integration", row.project)
    return work is not None and context.world.git.contains(repository, integration, work) is True


def carry_on(context: Context, row: Dispatch) -> None:
    """A finisher has died: if it had moved the branch before, its work is merged."""
    if row.kind != "finisher":
        return
    project, slug = row.project, row.slug
    state = context.store.read(lambda rows: tasks.state(rows, project, slug))
    repository, integration = context.project(project).path, context.setting("integration", project)
    work = state.work or context.world.git.resolve(repository, task_ref(slug))
    if not (_is_finished(state) and _is_merged_by_git(context, row, work)):
        return
    if astray(context, project, slug, repository, integration):
        return
    _name, tip = integration_branch(context, project, repository)
    order = order_for(context, project, slug, repository, (integration, row.base or "", work or tip))
    _found_merged(context, order, tip)


def note_merged(context: Context, project: str, slug: str, *, commit: str) -> dict[str, Any]:
    """It was merged elsewhere, as that commit."""
    return _merged(context, project, slug, commit)
