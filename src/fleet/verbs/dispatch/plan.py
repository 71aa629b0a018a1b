"""Plan: look at everything that somebody wants started, before anything is made.

Whatever can be refused by looking is refused here: a project, task or engine that is not there, a program that is missing, a
branch that is somebody else's. What comes out is the order that the kinds of claims follow, and what is wanted, made complete.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fleet import errors
from fleet.engines import prompt, readiness
from fleet.engines.reader import engine as read_engine
from fleet.model.branches import task_branch
from fleet.model.dispatch.branch_marks import mark_of
from fleet.model.dispatch.steps import KINDS as DISPATCH_KINDS
from fleet.model.tasks.pipeline import KIND_AT
from fleet.model.text import times
from fleet.model.text.times import SECOND, duration
from fleet.resources import KINDS
from fleet.resources.kind import Order
from fleet.store import queries as q
from fleet.verbs.dispatch.tmux_server import server
from fleet.verbs.merge import branches

if TYPE_CHECKING:
    from fleet.engines.reader import Engine
    from fleet.model.settings.table import SettingValue
    from fleet.model.states import DispatchKind, Resumes
    from fleet.store.queries import Project, WholeTask
    from fleet.verbs.context import Context

WAIT = 10.0
_OF_WORKTREES = ("worktree.setup", "worktree.teardown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What somebody wants started."""

    project: str
    slug: str | None
    kind: DispatchKind = "worker"
    engine: str | None = None
    command: tuple[str, ...] = ()
    autonomy: str | None = None
    model: str | None = None
    predecessor: str | None = None
    # The branch that it begins at and will be merged into, when that is not the project's own.
    onto: str | None = None
    # What a predecessor left for this one to read, and how many handoffs led here.
    handoff: str = ""
    handoffs: int = 0
    # A coordinator that is to follow another has to prove itself within so many seconds.
    proof: float | None = None
    wait: float = WAIT
    # Only of a resume: whether it goes on in its predecessor's conversation or starts again; and that conversation.
    resumes: Resumes | None = None
    conversation: str | None = None


def prepare(context: Context, wanted: Wanted) -> tuple[Order, Wanted]:
    """Look at everything that could be refused. Returns the order, and what is wanted with everything that was left open."""
    if wanted.kind not in DISPATCH_KINDS or (wanted.kind == "coord") != (wanted.slug is None):
        raise errors.BadInput(
            what=f"kind {wanted.kind!r} does not fit: a coordinator has no task, everything else has one"
        )
    task = _task(context, wanted)
    project, engine, autonomy = _check_start(context, wanted, task)
    if task is None and wanted.slug is not None:
        raise errors.NoSuchTask(project=wanted.project, slug=wanted.slug)
    wanted = _at_its_stage(wanted, task)
    integration, base, there = _branches(context, wanted, project.path)
    order = _order(context, wanted, project, integration=integration, base=base, task=task)
    conversation = wanted.conversation or (context.world.ids.conversation() if engine.session else None)
    wanted = replace(wanted, autonomy=autonomy if engine.autonomy else None, conversation=conversation)
    return replace(order, engine=engine.name, branch_was_there=there), wanted


def _at_its_stage(wanted: Wanted, task: WholeTask | None) -> Wanted:
    """Whoever asks for a worker gets whom the task needs at its stage: somebody to mend it, or to review it."""
    if task is None or wanted.kind != "worker" or task.stage not in KIND_AT:
        return wanted
    kind = KIND_AT[task.stage]
    if kind == "finisher":
        why = f"its work is done and waits to be merged: `fleet merge {task.slug} -p {task.project}`"
        raise errors.NotReady(project=task.project, slug=task.slug, why=why)
    left = task.assignee if task.status == "in_progress" and kind == "reviewer" else None
    return replace(wanted, kind=kind, predecessor=wanted.predecessor or left)


def check_start(context: Context, wanted: Wanted) -> tuple[Project, Engine, str | None]:
    """Return the project, the engine and the autonomy level of a new agent (None: no level is set).

    Raises before anything is created: a needed setting is not trusted, no engine is set, or the engine cannot start here.
    """
    return _check_start(context, wanted, _task(context, wanted))


def _check_start(context: Context, wanted: Wanted, task: WholeTask | None) -> tuple[Project, Engine, str | None]:
    project = context.project(wanted.project)
    settings = context.settings(wanted.project)
    _refuse_untrusted(settings, wanted)
    engine = _engine(context, wanted, task)
    readiness.program_of(engine, wanted.command)
    autonomy = wanted.autonomy or settings["autonomy"].value
    if engine.autonomy and autonomy is None and settings["autonomy"].untrusted:
        raise errors.NotTrusted(project=wanted.project, settings="autonomy")
    readiness.check(engine, autonomy=autonomy, repository=project.path)
    return project, engine, autonomy


def _refuse_untrusted(settings: dict[str, SettingValue], wanted: Wanted) -> None:
    """Refuse to make a worktree whose commands nobody has trusted."""
    waiting = [name for name in _OF_WORKTREES if settings[name].untrusted]
    if wanted.slug is not None and waiting:
        raise errors.NotTrusted(project=wanted.project, settings=" and ".join(waiting))


def _engine(context: Context, wanted: Wanted, task: WholeTask | None) -> Engine:
    setting = context.settings(wanted.project)["engine"]
    name = wanted.engine or (task and task.engine) or setting.value
    if not name and setting.untrusted:
        raise errors.NotTrusted(project=wanted.project, settings="engine")
    if not name:
        raise errors.BadInput(
            what="no engine: say --engine NAME, or set engine in fleet.toml; `fleet engine list` shows them"
        )
    return read_engine(context.world.home, name)


def _task(context: Context, wanted: Wanted) -> WholeTask | None:
    """The task to work on; None for a coordinator, and when there is no such task."""
    slug = wanted.slug
    return context.store.read(lambda rows: q.task_whole(rows, project=wanted.project, slug=slug)) if slug else None


def _branches(context: Context, wanted: Wanted, repository: str) -> tuple[str, str | None, bool]:
    if wanted.slug is None:
        return "", None, False
    return branches.start_of_task(context, wanted.project, wanted.slug, repository, onto=wanted.onto)


def _order(
    context: Context, wanted: Wanted, project: Project, *, integration: str, base: str | None, task: WholeTask | None
) -> Order:
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
        words=("/usr/bin/env", *_mark(wanted, ident), world.fleet_program, "launch", ident),
        server=str(server(context)),
        git_limit=duration(context.setting("git_limit")) / SECOND,
        env={"FLEET_HOME": world.home},
    )
    cwd = KINDS["worktree"].name_for(order, world) if wanted.slug else project.path
    return replace(order, cwd=cwd, prompt=_prompt(context, order, task, wanted.handoff))


def _mark(wanted: Wanted, ident: str) -> list[str]:
    """The variables that mark a process as the dispatch's. Its command has them, its session not: nor a pane that a person splits off."""
    task = [f"FLEET_TASK={wanted.slug}"] if wanted.slug else []
    return [f"FLEET_DISPATCH_ID={ident}", f"FLEET_PROJECT={wanted.project}", *task]


def _prompt(context: Context, order: Order, task: WholeTask | None, handoff: str) -> str:
    facts = {
        "title": task.title if task else f"Coordinate {order.project}",
        "description": task.description if task else "",
        "slug": order.slug or "",
        "project": order.project,
        "dispatch": order.dispatch,
        "branch": order.branch,
        "verify": f"- Before you say done, `{task.verify}` has to pass.\n" if task and task.verify else "",
        "integration": order.integration,
        "comments": (task and task.reason) or "",
        "history": _history(context, task) if task else "",
    }
    text = prompt.prompt(context.world.home, order.kind, facts)
    return f"{text}\n{handoff}" if handoff else text


def _history(context: Context, task: WholeTask) -> str:
    log = context.store.read(lambda rows: q.task_log(rows, project=task.project, slug=task.slug))
    lines = "".join(f"- {times.iso(each.at)} {each.actor}: {each.message}\n" for each in log[-20:])
    return f"\nWhat was said about this task before:\n{lines}" if lines else ""
