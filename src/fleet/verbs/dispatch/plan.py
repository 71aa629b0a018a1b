"""Plan a dispatch: check everything that can be refused before anything is created.

Checked are the project, the task, the engine and its program, trust in the settings, and the branch. The result is the
order, from which resources are created, and the request with its open values filled in.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from fleet import errors
from fleet.engines import inheritance, prompt, readiness
from fleet.engines.reader import engine as read_engine
from fleet.model import FLEET_DISPATCH_ID, FLEET_HOME, FLEET_PROJECT, FLEET_TASK, names
from fleet.model.branches import task_branch
from fleet.model.dispatch.branch_marks import mark_of
from fleet.model.dispatch.steps import KINDS as DISPATCH_KINDS
from fleet.model.identity import Identity
from fleet.model.settings.engine_choices import engine_choices, model_for
from fleet.model.tasks import fence
from fleet.model.tasks.comments import describe_beside
from fleet.model.tasks.pipeline import KIND_AT
from fleet.model.text import times
from fleet.model.text.times import SECOND, duration
from fleet.records import record, replace
from fleet.resources import KINDS
from fleet.resources.kind import Order
from fleet.resources.worktree.branch_ownership import foreign_branch, is_branch_of_project
from fleet.store import bundles
from fleet.store import queries as q
from fleet.verbs.agents.cost import apply_holds
from fleet.verbs.homes import environment, sandbox
from fleet.verbs.merge import branches
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.engines.reader import Engine
    from fleet.model.settings.table import SettingValue
    from fleet.model.states import DispatchKind, Resumes
    from fleet.store.queries import Project, WholeTask
    from fleet.verbs.context import Context

# The default of `Wanted.wait`, in seconds.
WAIT = 10.0
_WORKTREE_COMMANDS = ("worktree.setup", "worktree.teardown")


@record(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The request to start an agent. None or '' in a field leaves its value to the plan."""

    project: str
    slug: str | None
    kind: DispatchKind = "worker"
    engine: str | None = None
    # The words after `--`: the program and its arguments, for an engine without a program of its own.
    command: tuple[str, ...] = ()
    autonomy: str | None = None
    model: str | None = None
    # Filled in by the plan: the sandbox that the agent is started in.
    sandbox: str | None = None
    # Filled in by the plan: the engine that would have come first but is held back, and why.
    instead_of: str | None = None
    instead_why: str | None = None
    # The dispatch whose work the agent continues or reviews, or the coordinator that it replaces.
    predecessor: str | None = None
    # The branch at which the work starts and into which it is merged, if not the project's integration branch.
    onto: str | None = None
    # The text that a predecessor left for this agent, and the number of handoffs so far.
    handoff: str = ""
    handoffs: int = 0
    # Seconds within which a coordinator that replaces another one has to prove itself; None for any other agent.
    proof: float | None = None
    # Seconds to wait while another process releases the task's bundle.
    wait: float = WAIT
    # Only for a resume: whether the agent continues its predecessor's conversation or starts a new one.
    resumes: Resumes | None = None
    # The id of the conversation to continue. Without one, the plan makes an id if the engine takes one.
    conversation: str | None = None


def plan_dispatch(context: Context, wanted: Wanted) -> tuple[Order, Wanted]:
    """Check a request to start an agent; return the order for its resources, and the request with all values filled in.

    Raises BadInput when the kind does not fit, NoSuchTask for an unknown task, NotReady for a task that waits to be
    merged, ForeignBranch when the task's branch is not fleet's, and the errors of `check_start`.
    """
    if wanted.kind not in DISPATCH_KINDS or (wanted.kind == "coord") != (wanted.slug is None):
        raise errors.BadInput(
            what=f"kind {wanted.kind!r} does not fit: a coordinator has no task, everything else has one"
        )
    task = _task_to_work_on(context, wanted)
    project, choice, autonomy, passed = _check_start(context, wanted, task)
    engine = choice.engine
    if task is None and wanted.slug is not None:
        raise errors.NoSuchTask(project=wanted.project, slug=wanted.slug)
    wanted = _with_kind_of_stage(wanted, task)
    integration, base, there = _start_branches(context, wanted, project.path)
    if there and wanted.slug is not None:
        refuse_foreign_branch(context, project, wanted.slug)
    order = _order_of_resources(context, wanted, project, integration=integration, base=base, task=task)
    conversation = wanted.conversation or (context.world.ids.conversation() if engine.session else None)
    wanted = replace(
        wanted,
        autonomy=autonomy if engine.autonomy else None,
        conversation=conversation,
        model=choice.model,
        sandbox=choice.sandbox,
        instead_of=choice.held.engine if choice.held else None,
        instead_why=choice.held.reason if choice.held else None,
    )
    known = _known_tip(context, project, wanted.slug) if there and wanted.slug else ""
    return replace(order, engine=engine.name, branch_was_there=there, passed=passed, work=known), wanted


def _with_kind_of_stage(wanted: Wanted, task: WholeTask | None) -> Wanted:
    """Return the request with the kind of agent that the task's stage needs, such as a reviewer.

    A request for another kind than worker, or without a task (None), is returned as it is. A reviewer's predecessor is
    the task's assignee unless the request names one. Raises NotReady when the task waits to be merged.
    """
    if task is None or wanted.kind != "worker" or task.stage not in KIND_AT or task.merged:
        return wanted
    kind = KIND_AT[task.stage]
    if kind == "finisher":
        why = f"its work is done and waits to be merged: `fleet merge {task.slug} -p {task.project}`"
        raise errors.NotReady(project=task.project, slug=task.slug, why=why)
    left = fence.holder(task) if kind == "reviewer" else None
    return replace(wanted, kind=kind, predecessor=wanted.predecessor or left)


def check_start(context: Context, wanted: Wanted, *, ticks: bool = False) -> tuple[Project, Engine, str | None]:
    """Return the project, the engine and the autonomy level of a new agent (None: no level is set).

    Raises an error, before anything is created, when a needed setting is not trusted, no engine is set, or the engine
    cannot start here. With `ticks`, check the environment that a tick would pass to the agent, not the caller's.
    """
    project, choice, autonomy, _passed = _check_start(context, wanted, _task_to_work_on(context, wanted), ticks=ticks)
    return project, choice.engine, autonomy


def _check_start(
    context: Context, wanted: Wanted, task: WholeTask | None, *, ticks: bool = False
) -> tuple[Project, EngineChoice, str | None, dict[str, str]]:
    """Do the checks of `check_start` for a task that the caller has read (None: a coordinator), and raise the same errors.

    Returns the project, the choice of engine, the autonomy level, and the variables that the agent gets.
    """
    project = context.project(wanted.project)
    context.world.files.refuse_blocked(paths.INBOX)
    sources = context.settings_with_sources(wanted.project)
    _refuse_untrusted(sources, wanted)
    choice = _choose_engine(context, wanted, task)
    engine = choice.engine
    passed = environment.environment_of_agent(context, engine, ticks=ticks)
    if lacking := inheritance.lacking(passed, engine.require):
        raise errors.VariablesMissing(engine=engine.name, names=", ".join(lacking))
    readiness.program_of(engine, wanted.command, passed)
    autonomy = wanted.autonomy or context.settings(wanted.project).autonomy
    if engine.autonomy and autonomy is None and sources["autonomy"].untrusted:
        raise errors.NotTrusted(project=wanted.project, settings="autonomy")
    enclosed = sandbox.plan_sandbox(context, engine)
    readiness.check(engine, autonomy=autonomy, repository=project.path, env=passed, sandboxed=enclosed is not None)
    return project, choice._replace(sandbox=enclosed), autonomy, passed


def _refuse_untrusted(settings: dict[str, SettingValue], wanted: Wanted) -> None:
    """Raise NotTrusted for work on a task while the project's setup or teardown command is not trusted.

    A coordinator, which has no worktree, is not checked.
    """
    waiting = [name for name in _WORKTREE_COMMANDS if settings[name].untrusted]
    if wanted.slug is not None and waiting:
        raise errors.NotTrusted(project=wanted.project, settings=" and ".join(waiting))


class EngineChoice(NamedTuple):
    """The engine, model and sandbox of a new agent.

    `held` tells why the first choice is held back; None when the first choice is taken.
    """

    engine: Engine
    model: str | None
    held: apply_holds.EngineOnHold | None
    sandbox: str | None = None


def _choose_engine(context: Context, wanted: Wanted, task: WholeTask | None) -> EngineChoice:
    """Return the first engine that is not held back by a limit, with its model; when all are held back, the first.

    The model of the request, or else of the task, counts only for the engine of first choice; that of the task only if
    this is also the engine that the task runs on by default, or if there is no default. `task` is None for a
    coordinator. Raises BadInput when the engine cannot be given the model.
    """
    choices = _engine_choices(context, wanted, task)
    quota, now = context.settings().limits_quota_percent, context.world.clock.now()
    name, held = context.store.read(lambda rows: apply_holds.choose_engine(rows, choices, at=now, quota_percent=quota))
    first, *_others = choices
    own = task.model if task and _usual_engine(context, wanted.project, task) in {None, first} else None
    model = model_for(name, first, wanted.model or own)
    engine = read_engine(context.world.home, name)
    if model is not None and not engine.model:
        raise errors.BadInput(what=f"the engine {name} cannot be given a model, and {names.model(model)} is asked for")
    return EngineChoice(engine, None if model is None else names.model(model), held)


def _usual_engine(context: Context, project: str, task: WholeTask) -> str | None:
    """Return the engine that a task runs on by default: its own, else the first in the settings; None when none is set."""
    return task.engine or next(iter(engine_choices(context.settings(project).engine)), None)


def _engine_choices(context: Context, wanted: Wanted, task: WholeTask | None) -> tuple[str, ...]:
    """Return the names of the engines to choose from: those of the request, else of the task, else of the settings.

    Raises BadInput when there are none, NotTrusted when the setting that names one is not trusted.
    """
    name = wanted.engine or (task and task.engine)
    choices = (name,) if name else engine_choices(context.settings(wanted.project).engine)
    if not choices and context.settings_with_sources(wanted.project)["engine"].untrusted:
        raise errors.NotTrusted(project=wanted.project, settings="engine")
    if not choices:
        raise errors.BadInput(
            what="no engine: say --engine NAME, or set engine in fleet.toml; `fleet engine list` shows them"
        )
    return choices


def _task_to_work_on(context: Context, wanted: Wanted) -> WholeTask | None:
    """Return the task to work on; None for a coordinator, and when the task does not exist."""
    slug = wanted.slug
    return context.store.read(lambda rows: q.task_whole(rows, project=wanted.project, slug=slug)) if slug else None


def _start_branches(context: Context, wanted: Wanted, repository: str) -> tuple[str, str | None, bool]:
    """Return the branch that a task starts from, its commit, and whether the task has its own branch already.

    Returns ("", None, False) for a coordinator. See `start_of_task`.
    """
    if wanted.slug is None:
        return "", None, False
    return branches.start_of_task(context, wanted.project, wanted.slug, repository, onto=wanted.onto)


def _known_tip(context: Context, project: Project, slug: str) -> str:
    """Return the tip of the task's branch if it was reported, settled or reviewed as the task's work; otherwise ""."""
    tip = context.world.git.branches(project.path, task_branch(slug)).get(task_branch(slug), "")
    place = {"project": project.name, "slug": slug, "work": tip}
    return tip if tip and context.store.read(lambda rows: q.known_work(rows, **place)) else ""


def refuse_foreign_branch(context: Context, project: Project, slug: str) -> None:
    """Raise ForeignBranch when the task's branch exists and no mark, claim or known commit proves that it is the task's."""
    world, branch = context.world, task_branch(slug)
    claims = context.store.read(lambda rows: bundles.claims_of_bundle(rows, project.name, slug))
    mark, known = mark_of(world.tmux.home_id, project, branch), _known_tip(context, project, slug)
    is_claimed = any(claim.kind == "worktree" for claim in claims)
    if is_claimed or is_branch_of_project(project.path, branch, mark, world, known=known):
        return
    raise foreign_branch(f"{world.home}/{paths.worktree(project.name, slug)}", branch, project.path)


def _order_of_resources(
    context: Context, wanted: Wanted, project: Project, *, integration: str, base: str | None, task: WholeTask | None
) -> Order:
    """Return the order for a new dispatch: its new id, prompt, branch and folders, from which its resources are created.

    `integration` is the branch that the task's branch starts from, and `base` that branch's commit. For a coordinator
    they are "" and None, and `task` is None.
    """
    world = context.world
    ident = world.ids.dispatch()
    branch = task_branch(wanted.slug) if wanted.slug else ""
    order = Order(
        dispatch=ident,
        kind=wanted.kind,
        project=wanted.project,
        slug=wanted.slug,
        repository=project.path,
        branch=branch,
        base=base,
        branch_mark=mark_of(world.tmux.home_id, project, branch),
        integration=integration,
        words=("/usr/bin/env", *_marking_variables(wanted, ident), world.fleet_program, "launch", ident),
        server=str(_choose_tmux_server(context)),
        git_limit=duration(context.settings().git_limit) / SECOND,
        env={FLEET_HOME: world.home},
    )
    cwd = KINDS["worktree"].name_for(order, world) if wanted.slug else project.path
    return replace(order, cwd=cwd, prompt=_prompt_of_agent(context, order, task, wanted.handoff))


def _marking_variables(wanted: Wanted, ident: str) -> list[str]:
    """Return the environment variables that mark a process as the dispatch's, each as NAME=VALUE.

    Only the session's command gets them, so that another pane which a person opens in the session has no mark.
    """
    task = [f"{FLEET_TASK}={wanted.slug}"] if wanted.slug else []
    return [f"{FLEET_DISPATCH_ID}={ident}", f"{FLEET_PROJECT}={wanted.project}", *task]


def _prompt_of_agent(context: Context, order: Order, task: WholeTask | None, handoff: str) -> str:
    """Return the text of the agent's prompt: the template for its kind, filled with the task's facts.

    `handoff` is the text that a predecessor left, '' when there is none; it is added. `task` is None for a coordinator.
    """
    comments, history = _earlier_comments(context, task) if task else ("", "")
    facts = {
        "title": task.title if task else f"Coordinate {order.project}",
        "description": task.description if task else "",
        "slug": order.slug or "",
        "project": order.project,
        "dispatch": order.dispatch,
        "branch": order.branch,
        "verify": f"- Before you say done, `{task.verify}` has to pass.\n" if task and task.verify else "",
        "integration": order.integration,
        "comments": comments,
        "history": history,
    }
    text = prompt.prompt(context.world.home, order.kind, facts)
    return f"{text}\n{handoff}" if handoff else text


def _earlier_comments(context: Context, task: WholeTask) -> tuple[str, str]:
    """Return two texts for an agent: what is wrong with the task's work so far, and the task's last 20 log entries.

    The first has the task's reason and its reviewers' verdicts. Either is '' when there is nothing.
    """
    place = {"project": task.project, "slug": task.slug}
    verdicts, log = context.store.read(lambda rows: (q.verdicts_of(rows, **place), q.task_log(rows, **place)))
    lines = "".join(f"- {times.iso(entry.at)} {entry.actor}: {entry.message}\n" for entry in log[-20:])
    history = f"\nWhat was logged about this task before:\n{lines}" if lines else ""
    return f"{task.reason or ''}{describe_beside(verdicts)}".strip(), history


def _choose_tmux_server(context: Context) -> Identity:
    """Return the tmux server for a new session: the last dispatch's if it lives, else a running or a new one.

    The server is not asked whether it answers: creating the session shows that.
    """
    last = context.store.read(
        lambda rows: q.last_server(rows, socket=context.world.tmux.socket, home=context.world.record.id)
    )
    known = Identity.parse(last.server) if last else None
    life = context.world.processes.life(known)
    if known is not None and life == "alive" and os.path.exists(context.world.tmux.socket):
        return known
    gate = context.world.gate("tmux")
    gate.take(wait=60)
    try:
        if known is not None and life == "alive":
            return context.world.tmux.recall_server(known)
        return context.world.tmux.ensure_server()
    finally:
        gate.give()
