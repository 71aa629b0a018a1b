"""fleet run, dispatch, launch, settle, stop, kill."""

from __future__ import annotations

from typing import Any

import click

from fleet.api.fleet import Fleet
from fleet.errors.families import BadInput, FleetError
from fleet.surfaces.cli.commands.projects.trust import offer_trust
from fleet.surfaces.cli.hot import session
from fleet.surfaces.cli.options import Slug, acting, from_stdin, unkeyed
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.picking import picked
from fleet.verbs.dispatch.plan import WAIT, Wanted

_TITLE = 120
_ENGINE = click.option("--engine", metavar="NAME", help="the engine (default: the task's, or fleet.toml's)")
_AUTONOMY = click.option(
    "--autonomy", type=click.Choice(["ask", "edits", "allowlist", "full"]), help="what it may do unasked"
)
_MODEL = click.option("--model", metavar="NAME", help="the model, as the engine calls it")
_COMMAND = click.argument("command", nargs=-1, type=click.UNPROCESSED)


def _told(done: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        terminal.say_json(done)
        return
    does = f"works on {done['project']}/{done['task']}" if done["task"] else f"coordinates {done['project']}"
    terminal.say(f"agent {done['id']} {does} ({done['engine']})")
    terminal.say(f"  look: fleet peek {done['id']}   join: fleet attach {done['id']}   end: fleet stop {done['id']}")


@click.command("run")
@click.argument("prompt")
@click.option("--slug", metavar="SLUG", help="the task's name (default: made from the prompt)")
@_ENGINE
@_AUTONOMY
@_MODEL
@acting
@_COMMAND
def run(prompt: str, command: tuple[str, ...], **given: Any) -> None:
    """Add a task and start an agent on it. The prompt's first line is the title, shortened if it is long; - reads standard input.

    \b
    Examples:
      fleet run "Fix the flaky login test"
      fleet run - --engine claude --autonomy edits < brief.md
      fleet run "Build everything" --engine shell -- make all
    """
    text = (from_stdin(prompt) or "").strip()
    first, _, rest = text.partition("\n")
    with Fleet.open(actor=given["as"]) as fleet:
        project = fleet.project_here(given["project"])
        offer_trust(fleet, project, as_json=given["json"])
        fleet.dispatches.check_start(Wanted(project=project, slug="", **_how(given, command)))
        whole = not rest and len(first) <= _TITLE
        task = fleet.tasks.add(
            project=project,
            title=first if len(first) <= _TITLE else f"{first[: _TITLE - 1]}…",
            slug=given["slug"],
            description="" if whole else text,
        )
        wanted = Wanted(project=project, slug=task["slug"], **_how(given, command))
        try:
            done = fleet.dispatches.start(wanted)
        except FleetError:
            said = (
                f"the task {project}/{task['slug']} was added all the same; `fleet dispatch {task['slug']}` starts it"
            )
            terminal.warn(said)
            raise
        _told(done, as_json=given["json"])


def _how(given: dict[str, Any], command: tuple[str, ...]) -> dict[str, Any]:
    return {"engine": given["engine"], "autonomy": given["autonomy"], "model": given["model"], "command": command}


@click.command("dispatch")
@click.argument("slug", type=Slug(), required=False)
@click.option("--kind", type=click.Choice(["worker", "reviewer", "fix", "rebase"]), default="worker", show_default=True,
              help="what it does with the task's work")  # fmt: skip
@click.option("--coord-spawn", is_flag=True, help="start the project's coordinator instead")
@click.option("--wait", type=click.FloatRange(min=0), default=WAIT, show_default=True, metavar="SECONDS",
              help="how long to wait for a worktree that somebody is letting go of")  # fmt: skip
@_ENGINE
@_AUTONOMY
@_MODEL
@acting
@_COMMAND
def dispatch(slug: str | None, command: tuple[str, ...], **given: Any) -> None:
    """Start an agent on a task, in a tmux session and a git worktree of its own.

    \b
    Examples:
      fleet dispatch fix-login
      fleet dispatch fix-login --engine claude --autonomy edits
      fleet dispatch fix-login --engine shell -- make test
      fleet dispatch --coord-spawn -p web --engine shell -- sleep 600
    """
    if given["coord_spawn"] and slug is not None:
        command, slug = (slug, *command), None
    if not given["coord_spawn"] and slug is None:
        raise BadInput(what="name a task; `fleet task ready` shows what could be started")
    if given["coord_spawn"] and not given["project"]:
        raise BadInput(what="--coord-spawn needs a project: say -p PROJECT")
    with Fleet.open(actor=given["as"]) as fleet:
        project = fleet.project_here(given["project"])
        offer_trust(fleet, project, as_json=given["json"])
        kind = "coord" if given["coord_spawn"] else given["kind"]
        wanted = Wanted(project=project, slug=slug, kind=kind, wait=given["wait"], **_how(given, command))
        done = fleet.coord.start(wanted) if given["coord_spawn"] else fleet.dispatches.start(wanted)
    _told(done, as_json=given["json"])


@click.command("launch", hidden=True)
@click.argument("ident")
def launch(ident: str) -> None:
    """Become the agent of a dispatch. What a session runs; one launch a dispatch."""
    session.launch(ident)


@click.command("settle", hidden=True)
@click.argument("given")
@click.option("--hint", is_flag=True, help="in the background, and for a few seconds: the agent is just exiting")
def settle(given: str, *, hint: bool) -> int:
    """Settle a dispatch whose agent has exited. What tmux calls when a pane dies."""
    if hint:
        session.settle_soon(given)
        return 0
    with Fleet.open() as fleet:
        done = fleet.sessions.settle(fleet.dispatches.find(given.removeprefix("fleet-")))
    terminal.say(f"{done['id']}: {done.get('exec_state') or done['why']}")
    return 0


@click.command("stop")
@click.argument("agent", required=False)
@unkeyed
def stop(agent: str | None, **given: Any) -> None:
    """End an agent and keep its work: it is asked the engine's own way, given grace, then killed.

    Its task is blocked, with its worktree; `fleet resume` goes on there.

    \b
    Examples:
      fleet stop 3f2a9c01
      fleet stop fix-login
    """
    with Fleet.open(actor=given["as"]) as fleet:
        ident = picked(fleet, agent, ending=True)
        terminal.note(f"{ident} is asked to exit …")
        done = fleet.dispatches.stop(ident)
        _ended(done, fleet.dispatches.show(done["id"]), as_json=given["json"])


@click.command("kill")
@click.argument("agent", required=False)
@click.option("-r", "--reason", required=True, metavar="TEXT", help="why, for whoever reads it next")
@unkeyed
def kill(agent: str | None, reason: str, **given: Any) -> None:
    """End an attempt: its task is failed, its processes are killed. Its worktree and commits stay.

    \b
    Examples:
      fleet kill 3f2a9c01 --reason "it runs in circles"
    """
    with Fleet.open(actor=given["as"]) as fleet:
        ident = picked(fleet, agent, ending=True)
        terminal.note(f"{ident} is asked to exit …")
        done = fleet.dispatches.kill(ident, reason)
        _ended(done, fleet.dispatches.show(done["id"]), as_json=given["json"])


def _ended(done: dict[str, Any], journal: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        terminal.say_json(done)
        return
    place = f"{journal['project']}/{journal['slug']}" if journal["slug"] else journal["project"]
    of = f", the {'coordinator' if journal['kind'] == 'coord' else journal['kind']} of {place},"
    if not done["settled"]:
        terminal.say(f"{done['id']}{of} was asked to exit and is not ended yet: {done['why']}")
        return
    left = f"; left: {'; '.join(done['left'])}" if done.get("left") else ""
    terminal.say(f"{done['id']}{of} is ended ({done['exec_state']}){left}")


COMMANDS = {"run": run, "dispatch": dispatch, "launch": launch, "settle": settle, "stop": stop, "kill": kill}
