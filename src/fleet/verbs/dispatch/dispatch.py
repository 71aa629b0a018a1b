"""Dispatch: start one agent on one task.

Everything that can be refused is refused before anything is created. Then one transaction claims the task, checks the
limits and records the dispatch with its claims; then the bundle, the prompt and the session are created, in this order.
If a step fails, the dispatch is settled and its claims are released, as in recovery.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import names
from fleet.model.dispatch.branch_marks import mark_of
from fleet.model.dispatch.may_start import why_no_room
from fleet.model.dispatch.steps import is_in_flight, owner
from fleet.model.results.dispatches import Dispatched
from fleet.model.tables import target
from fleet.model.tasks import fence
from fleet.model.tasks.pipeline import MENDING, STAGE_OF
from fleet.model.tasks.steps import STEPS
from fleet.model.text import times
from fleet.records import replace
from fleet.resources import CGROUP, KINDS
from fleet.resources.worktree import half_removed
from fleet.resources.worktree.branch_ownership import mark_unmarked_branch
from fleet.resources.worktree.worktree import GATE_WAIT
from fleet.store import bundles, seats, tasks
from fleet.store import queries as q
from fleet.store.bundles import SeenResource
from fleet.store.transaction import Change
from fleet.verbs.agents import prompts
from fleet.verbs.agents.cost.apply_holds import refuse_held
from fleet.verbs.agents.cost.budgets import limits_in, refuse_spent
from fleet.verbs.dispatch.acquire import create_and_record, create_resources, intent, is_free, step_claims
from fleet.verbs.dispatch.plan import plan_dispatch
from fleet.verbs.dispatch.reclaim import undo_unmade
from fleet.verbs.dispatch.settle import settle
from fleet.verbs.homes.ownership import note_home, note_machine, refuse_foreign_bundle
from fleet.verbs.resume import work_lock
from fleet.verbs.sweep import trash
from fleet.verbs.tasks import add

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.model.dispatch.claim import Claim
    from fleet.model.results.tasks import Added
    from fleet.model.settings.values import SettingValues
    from fleet.resources.kind import Order
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.verbs.dispatch.plan import Wanted
    from fleet.verbs.tasks.add import NewTask

# Seconds between two tries to record a dispatch while another process releases the bundle.
_LOOK_AGAIN = 0.05
# The kinds of claims of a bundle, in the order of their creation.
_BUNDLE = ("worker_dir", "worktree")


def dispatch(context: Context, wanted: Wanted) -> Dispatched:
    """Start an agent, and hold its task's work lock while it starts. A coordinator has no task and needs no lock.

    Raises an error when the agent cannot be started. A dispatch that was recorded already is then settled, and the
    resources that were created for it are released.
    """
    if wanted.slug is None:
        return start(context, wanted)
    gate = work_lock.lock_work(context, wanted.project, wanted.slug)
    try:
        return start(context, wanted)
    finally:
        gate.give()


def dispatch_new(context: Context, new: NewTask, wanted: Wanted) -> Dispatched:
    """Add a task and start an agent on it. `wanted` does not name the task.

    The task's work lock is held from before the task is added, so that no coordinator starts another agent on it. Raise
    OnlyAdded when the task was added and no agent could be started on it.
    """
    change = add.add(new)
    slug = new.slug or context.store.read(lambda rows: add.free_slug(rows, new))
    gate = work_lock.lock_work(context, new.project, slug)
    try:
        added = context.commit(change)
        if added.slug == slug:
            with _telling_that_it_was_added(added):
                return start(context, replace(wanted, slug=slug))
    finally:
        gate.give()
    with _telling_that_it_was_added(added):  # another task got that slug meanwhile, or this request is repeated
        return dispatch(context, replace(wanted, slug=added.slug))


@contextmanager
def _telling_that_it_was_added(added: Added) -> Iterator[None]:
    """Run the `with` block; turn an error of fleet in it into OnlyAdded, unless an agent works on the task."""
    try:
        yield
    except (errors.TaskHeld, errors.BundleHeld):
        raise
    except errors.FleetError as error:
        raise errors.OnlyAdded(project=added.project, slug=added.slug, why=error.spoken) from error


def start(context: Context, wanted: Wanted) -> Dispatched:
    """Start an agent as `dispatch` does, for a caller that already holds the task's work lock."""
    note_machine(context.world)
    order, wanted = plan_dispatch(context, wanted)
    with context.world.starting(order.dispatch):
        _write_and_create(context, wanted, order)
    return Dispatched(
        id=order.dispatch,
        project=order.project,
        task=order.slug,
        kind=order.kind,
        engine=order.engine,
        session=names.session(order.dispatch),
        worktree=order.cwd,
        branch=order.branch or None,
    )


def _write_and_create(context: Context, wanted: Wanted, order: Order) -> None:
    """Record the dispatch and create its resources.

    When that fails, settle the dispatch and raise the error, unless the agent runs nevertheless.
    """
    claims = _write_plan(context, wanted, order)
    try:
        _create_agent_resources(context, claims, order)
    except (errors.FleetError, OSError) as error:
        settle(context, order.dispatch, why=str(error), undo=True)
        if not _is_in_flight(context, order.dispatch):
            raise


def _is_in_flight(context: Context, ident: str) -> bool:
    """Return whether the agent was launched, although creating its session failed: tmux may have answered too late."""
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
    return row is not None and is_in_flight(row)


def _create_agent_resources(context: Context, claims: list[Claim], order: Order) -> None:
    """Create the resources of the agent's claims, then record that they exist. `claims` ends with the tmux session.

    `fleet launch` records the same, in case this process dies after it has created the session.
    """
    *needed, session = claims
    made = create_resources(context, [claim for claim in needed if "rewrite" not in claim.data], order)
    try:
        for claim in needed:
            prompts.finish_rewrite(context, claim)
    except (errors.FleetError, OSError):
        context.commit(step_claims([*((claim, "made") for claim in made), (session, "not_made")]))
        raise
    create_and_record(context, [session], order, made)
    if session.data["server"] != order.server:
        _record_tmux_server(context, session)


def _write_plan(context: Context, wanted: Wanted, order: Order) -> list[Claim]:
    """Record the dispatch and its claims, and return the claims to acquire.

    While another process releases the task's worktree and directory (its bundle), try again for at most `wanted.wait`
    seconds. Raise Contested after that, and at once when the task has an unfinished dispatch or the dispatch has no task.
    """
    deadline = context.world.clock.ticks() + wanted.wait
    while True:
        try:
            return _write_plan_once(context, wanted, order)
        except errors.Contested:
            slug = order.slug
            if (
                slug is None
                or context.world.clock.ticks() >= deadline
                or _has_unfinished_dispatch(context, order.project, slug)
            ):
                raise
            context.world.clock.wait(_LOOK_AGAIN)


def _has_unfinished_dispatch(context: Context, project: str, slug: str) -> bool:
    """Return whether the task has a dispatch that is pending or in flight."""
    return context.store.read(lambda rows: q.unfinished_of_task(rows, project=project, slug=slug)) is not None


def _own_kinds(context: Context, order: Order) -> tuple[str, ...]:
    """Return the kinds of claims that belong to the dispatch itself, in the order of their creation; the session is last."""
    cgroup = ("cgroup",) if CGROUP.is_available(order, context.world) else ()
    return ("coord_prompt_inbox", "agent_environment", *cgroup, "tmux_session")


def _write_plan_once(context: Context, wanted: Wanted, order: Order) -> list[Claim]:
    """Record the dispatch and its claims in one transaction, and return the claims to acquire.

    Raises an error, and records nothing, when the engine is held back, a budget is spent, too many agents run, or the
    task or its bundle cannot be taken.
    """
    own = _own_kinds(context, order)
    before = _look_at_bundle(context, order)
    # Make these after the look at the old claims: a resource that exists by now and belongs to none of them is not ours.
    fresh = {name: intent(context, KINDS[name], order) for name in ((*_BUNDLE, *own) if order.slug else own)}
    inbox = prompts.left_inbox(context, wanted.predecessor) if wanted.handoff else None
    settings, costs = context.settings(), limits_in(context.settings_with_sources())
    ports = (settings.ports_first, settings.ports_block)
    to_acquire: list[Claim] = []

    def work(tx: Tx) -> None:
        tx.about(order.project, order.slug)
        tx.dispatch = order.dispatch
        refuse_held(tx, order.engine, order.dispatch, quota_percent=settings.limits_quota_percent)
        if order.slug is not None:
            refuse_spent(tx, costs, project=order.project, slug=order.slug, at=tx.at)
            _claim_task(tx, order, order.slug, settings, wanted)
        _write_journal(tx, context, order, wanted)
        if order.slug is None:
            seats.take_seat(tx, order.project, order.dispatch, wanted.predecessor, wanted.proof)
        else:
            to_acquire.extend(_adopt_bundle(tx, context, order, fresh, before))
            bundles.give_ports(tx, project=order.project, slug=order.slug, first=ports[0], size=ports[1])
        inbox_claim = prompts.take_over(tx, inbox, order.dispatch, order.prompt) if inbox else None
        to_acquire.extend([inbox_claim] if inbox_claim else [])
        for name in own if inbox_claim is None else own[1:]:
            bundles.add_claim(tx, fresh[name])
            to_acquire.append(fresh[name])
        tx.note(kind=order.kind, engine=order.engine, session=names.session(order.dispatch))

    who = f"{order.kind} of {owner(project=order.project, slug=order.slug)}"
    context.commit(Change(f"dispatch {order.dispatch} ({who})", work))
    return to_acquire


def _look_at_bundle(context: Context, order: Order) -> dict[str, tuple[Claim, SeenResource]]:
    """Return the claims of the task's bundle by kind, each with whether it is free and how its resource looks.

    Empty for a coordinator, which has no bundle. First remove resources whose creation was interrupted, and undo an
    interrupted removal of the worktree. Raise OtherHost when another home owns a claim, WorktreeRefused when the
    resource of a live claim is foreign or unknown.
    """
    if order.slug is None:
        return {}
    refuse_foreign_bundle(context, order.project, order.slug)
    undo_unmade(context, order.project, order.slug)  # left by a dispatcher that died
    slug = order.slug
    claims = context.store.read(lambda rows: bundles.claims_of_bundle(rows, order.project, slug))
    return {claim.kind: (claim, _look_at_claim(context, claim)) for claim in claims}


def _look_at_claim(context: Context, claim: Claim) -> SeenResource:
    """Return whether a bundle's claim is free (no process works on its resource), and how its resource looks.

    Also undoes an interrupted removal of a worktree, and marks the worktree's branch if an older version of fleet did
    not. Raises WorktreeRefused when the claim is live and its resource is foreign or cannot be judged.
    """
    look = KINDS[claim.kind].look(claim, context.world)
    free = is_free(context, claim)
    if claim.kind == "worktree" and claim.is_leaving and look == "ours" and free:
        _restore_worktree(context, claim)
    if claim.kind == "worktree" and look == "ours":
        trash.bring_back(context, claim)  # an interrupted removal moved its ignored files to the trash
        _mark_branch_if_unmarked(context, claim)
    if claim.is_live and look in {"foreign", "unknown"}:
        advice = "look at it with git worktree list; move it away or repair it, then run `fleet clean`"
        raise errors.WorktreeRefused(
            path=claim.name, why=f"fleet's journal says it is there, but it is {look}", advice=advice
        )
    return SeenResource(free=free, look=look)


def _mark_branch_if_unmarked(context: Context, claim: Claim) -> None:
    """Put fleet's mark on the branch of a worktree that an older version of fleet made without a mark.

    The worktree's claim, which then records no mark, proves that the branch is the task's.
    """
    if "branch_mark" in claim.data or claim.is_unmade or claim.project is None:
        return
    mark = mark_of(context.world.tmux.home_id, context.project(claim.project), claim.data["branch"])
    gate = context.world.git_gate(claim.data["repository"])
    gate.take(wait=GATE_WAIT)
    try:
        mark_unmarked_branch(claim, mark, context.world)
    finally:
        gate.give()


def _restore_worktree(context: Context, claim: Claim) -> None:
    """Restore the files that an interrupted removal deleted from a worktree.

    The worktree's claim is in a state of removal, and no process works on it.
    """
    gate = context.world.git_gate(claim.data["repository"])
    gate.take(wait=GATE_WAIT)
    try:
        half_removed.restore(claim, context.world)
    finally:
        gate.give()


def _claim_task(tx: Tx, order: Order, slug: str, settings: SettingValues, wanted: Wanted) -> None:
    """Assign the task to the dispatch.

    Raises LimitReached when too many agents run, TaskHeld when somebody works on the task, IllegalStep or NotReady when
    its state does not allow a start.
    """
    project = order.project
    most, most_here = settings.limits_agents, settings.limits_project_agents
    full = why_no_room(project, q.count_unfinished(tx, project=project), agents=most, project_agents=most_here)
    if full is not None:
        raise full
    if _assign_task(tx, order, slug, wanted):
        return
    was = tasks.state(tx, project, slug)
    if fence.holder(was) is not None:
        since = "an unknown time" if was.started_at is None else times.clock(was.started_at)
        raise errors.TaskHeld(project=project, slug=slug, holder=was.assignee, since=since)
    fence.step(project, slug, was, "claim")
    raise errors.NotReady(project=project, slug=slug, why=fence.why_not_ready(was, now=tx.at))


def _assign_task(tx: Tx, order: Order, slug: str, wanted: Wanted) -> bool:
    """Assign the task to the new dispatch: as one that resumes, as the first worker, or as the agent of the next stage.

    Return False when the task's state allows none of the three.
    """
    place, stage = {"project": order.project, "slug": slug, "id": order.dispatch}, STAGE_OF[order.kind]
    resume, claim, go_on = (target(STEPS, event) for event in ("resume", "claim", "go_on"))
    before, mends = wanted.predecessor or "", int(stage in MENDING)
    if wanted.resumes and q.resume_task(tx, **place, at=tx.at, after=resume, predecessor=before):
        return True
    if q.assign_task(tx, **place, at=tx.at, after=claim):
        return True
    return q.assign_stage(tx, **place, at=tx.at, after=go_on, stage=stage, mends=mends, predecessor=before) == 1


def _write_journal(tx: Tx, context: Context, order: Order, wanted: Wanted) -> None:
    """Insert the rows of the dispatch and its agent.

    Raises BundleHeld when the task has an unfinished dispatch, Contested when the id is taken.
    """
    if not q.reserve_id(tx, id=order.dispatch, at=tx.at):
        raise errors.Contested(what=f"the id {order.dispatch} was given out before; try again")
    note_home(tx, context.world)
    written = q.add_dispatch(
        tx,
        id=order.dispatch,
        kind=order.kind,
        project=order.project,
        slug=order.slug,
        owner=owner(project=order.project, slug=order.slug),
        host=context.world.host.id,
        home=context.world.record.id,
        tmux_socket=context.world.tmux.socket,
        at=tx.at,
        spawner=str(context.world.processes.me()),
        server=order.server,
        base=order.base,
        engine=order.engine,
        autonomy=wanted.autonomy,
        model=wanted.model,
        command=json.dumps(wanted.command),
        predecessor=wanted.predecessor,
    )
    if not written:
        held = q.unfinished_of_task(tx, project=order.project, slug=order.slug or "")
        raise errors.BundleHeld(project=order.project, slug=order.slug, holder=held.id if held else "someone")
    ident, session = order.dispatch, names.session(order.dispatch)
    q.add_agent(tx, id=ident, engine=order.engine, session=session, conversation=wanted.conversation, at=tx.at)
    if order.slug is not None and (wanted.resumes or wanted.handoffs):
        q.inherit_messages(tx, dispatch=ident, predecessor=wanted.predecessor or "")
    if wanted.sandbox:
        q.set_sandbox(tx, id=ident, sandbox=wanted.sandbox)
    if wanted.resumes:
        q.set_resumes(tx, id=ident, resumes=wanted.resumes)
    if wanted.instead_of:
        q.set_instead(tx, id=ident, engine=wanted.instead_of, why=wanted.instead_why)
        tx.note(instead_of=wanted.instead_of)
    if wanted.handoffs:
        q.count_handoffs(tx, id=ident, handoffs=wanted.handoffs)


def _adopt_bundle(
    tx: Tx, context: Context, order: Order, fresh: dict[str, Claim], before: dict[str, tuple[Claim, SeenResource]]
) -> list[Claim]:
    """Make the dispatch the owner of its task's bundle. Returns the claims whose resources must still be created.

    `fresh` are new claims by kind, for resources that do not exist; `before` is what `_look_at_bundle` returned. Raises
    Contested when the bundle has changed since.
    """
    host, slug = context.world.host.id, order.slug or ""
    bundles.own_bundle(tx, project=order.project, slug=slug, host=host, dispatch=order.dispatch, kind=order.kind)
    now = {claim.kind: claim for claim in bundles.claims_of_bundle(tx, order.project, slug)}
    if {kind: claim.state for kind, claim in now.items()} != {kind: claim.state for kind, (claim, _) in before.items()}:
        raise errors.Contested(what=f"the bundle of {order.project}/{slug} changed meanwhile; try again")
    to_acquire = []
    for name in _BUNDLE:
        claim_to_acquire = bundles.adopt(tx, fresh[name], now.get(name), before[name][1] if name in before else None)
        if claim_to_acquire is not None:
            to_acquire.append(claim_to_acquire)
    return to_acquire


def _record_tmux_server(context: Context, claim: Claim) -> None:
    """Record the tmux server on which the session of this claim was made: another one than was planned."""

    def work(tx: Tx) -> int:
        tx.dispatch = claim.dispatch
        row = q.claim_by_id(tx, id=claim.id)
        old_data = json.loads(row.data) if row else {}
        data = json.dumps({**old_data, "server": claim.data["server"]})
        q.move_to_server(tx, id=claim.dispatch or "", server=claim.data["server"], at=tx.at)
        return q.set_claim_data(tx, id=claim.id, data=data, at=tx.at)

    context.commit(Change(f"{claim}: made on another server than planned", work))
