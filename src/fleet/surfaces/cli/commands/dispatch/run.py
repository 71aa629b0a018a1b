"""The commands `fleet run`, `dispatch`, `stop`, `kill`, and the hidden `launch` and `settle`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model import names
from fleet.model.names import AUTONOMIES
from fleet.model.results.coord import Seated
from fleet.model.tasks.prompts import split_prompt
from fleet.surfaces.cli.commands.projects.down import print_down
from fleet.surfaces.cli.commands.projects.trust import offer_trust
from fleet.surfaces.cli.hot import session
from fleet.surfaces.cli.options import Slug, from_stdin, writing_home_unkeyed, writing_unkeyed
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.picking import pick_agent
from fleet.surfaces.cli.ui.waiting import waiting
from fleet.verbs.dispatch.plan import WAIT, Wanted

if TYPE_CHECKING:
    from fleet.model.results.dispatches import Dispatched, Ended, Journal
    from fleet.model.states import DispatchKind

_ENGINE = click.option("--engine", metavar="NAME", help="the engine (default: the task's, or fleet.toml's)")
_AUTONOMY = click.option("--autonomy", type=click.Choice(AUTONOMIES), help="what the agent may do without asking")
_MODEL = click.option("--model", metavar="NAME", help="the model, as the engine calls it")
_COMMAND = click.argument("command", nargs=-1, type=click.UNPROCESSED)


def _say_started(made: Dispatched, *, as_json: bool) -> None:
    """Print the started agent, its task or project, and the next commands; or all as JSON."""
    if as_json:
        terminal.say_json(made)
        return
    does = f"works on {made.project}/{made.task}" if made.task else f"coordinates {made.project}"
    terminal.say(f"agent {made.id} {does} ({made.engine})")
    for warning in made.warnings if isinstance(made, Seated) else ():
        terminal.say(f"  warning: {warning}")
    terminal.say(f"  look: fleet peek {made.id}   join: fleet attach {made.id}   end: fleet stop {made.id}")


@click.command("run")
@click.argument("prompt")
@click.option("--slug", metavar="SLUG", help="the task's name (default: made from the prompt)")
@_ENGINE
@_AUTONOMY
@_MODEL
@writing_unkeyed
@_COMMAND
def run(prompt: str, command: tuple[str, ...], **given: Any) -> None:
    """Add a task and start an agent on it. The prompt's first line becomes the title; - reads the prompt from standard input.

    \b
    Examples:
      fleet run "Fix the flaky login test"
      fleet run - --engine claude --autonomy edits < brief.md
      fleet run "Build everything" --engine shell -- make all
    """
    title, description = split_prompt(from_stdin(prompt) or "")
    with Fleet.open(actor=given["as"]) as fleet:
        project = fleet.project_here(given["project"])
        offer_trust(fleet, project, as_json=given["json"])
        wanted = _wanted(given, command, project=project, slug="")
        made = fleet.dispatches.start_new(wanted, title=title, slug=given["slug"], description=description)
        _say_started(made, as_json=given["json"])


def _wanted(given: dict[str, Any], command: tuple[str, ...], *, project: str, slug: str | None) -> Wanted:
    """Return the dispatch to start, from the options of a command."""
    engine, autonomy, model = given["engine"], given["autonomy"], given["model"]
    return Wanted(project=project, slug=slug, engine=engine, autonomy=autonomy, model=model, command=command)


@click.command("dispatch")
@click.argument("slug", type=Slug(), required=False)
@click.option("--kind", type=click.Choice(["worker", "reviewer", "fix", "rebase"]), default="worker", show_default=True,
              help="what the agent does with the task")  # fmt: skip
@click.option("--coord-spawn", is_flag=True, help="start the project's coordinator instead")
@click.option("--wait", type=click.FloatRange(min=0), default=WAIT, show_default=True, metavar="SECONDS",
              help="how long to wait for a worktree that another process is releasing")  # fmt: skip
@_ENGINE
@_AUTONOMY
@_MODEL
@writing_unkeyed
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
        raise errors.BadInput(what="name a task; `fleet task ready` shows what could be started")
    if given["coord_spawn"] and not given["project"]:
        raise errors.BadInput(what="--coord-spawn needs a project: give -p PROJECT")
    with Fleet.open(actor=given["as"]) as fleet:
        project = fleet.project_here(given["project"])
        offer_trust(fleet, project, as_json=given["json"])
        kind: DispatchKind = "coord" if given["coord_spawn"] else given["kind"]
        wanted = replace(_wanted(given, command, project=project, slug=slug), kind=kind, wait=given["wait"])
        made = fleet.coord.start(wanted) if given["coord_spawn"] else fleet.dispatches.start(wanted)
    _say_started(made, as_json=given["json"])


@click.command("launch", hidden=True)
@click.argument("ident")
def launch(ident: str) -> None:
    """Become the agent of a dispatch. A tmux session runs this, once for each dispatch."""
    session.launch(ident)


@click.command("settle", hidden=True)
@click.argument("given")
@click.option("--hint", is_flag=True, help="in the background, for a few seconds, because the agent is exiting")
def settle(given: str, *, hint: bool) -> int:
    """Settle a dispatch whose agent has exited. tmux calls this when a pane dies."""
    if hint:
        session.settle_soon(given)
        return 0
    with Fleet.open() as fleet:
        ended = fleet.sessions.settle(fleet.dispatches.find(names.dispatch_of_session(given)))
    terminal.say(f"{ended.id}: {ended.exec_state or ended.why}")
    return 0


@click.command("stop")
@click.argument("agent", required=False)
@click.option("--all", "everyone", is_flag=True, help="every agent of the project that works on a task")
@writing_unkeyed
def stop(agent: str | None, project: str | None, *, everyone: bool, json: bool, **given: Any) -> int:
    """End an agent and keep its work: the agent is asked to exit in the engine's own way, then killed if it does not.

    Its task becomes blocked and keeps its worktree; `fleet resume` continues there.

    \b
    Examples:
      fleet stop 3f2a9c01
      fleet stop fix-login
      fleet stop --all -p web
    """
    if everyone and agent:
        raise errors.BadInput(what="give an agent or --all, not both")
    with Fleet.open(actor=given["as"]) as fleet:
        if everyone:
            name = fleet.project_here(project)
            with waiting(f"the agents of {name} are asked to exit"):
                ended = fleet.dispatches.stop_all(name)
            terminal.say_json(ended) if json else print_down(ended)
            return errors.Refused.code if ended.left else 0
        ident = pick_agent(fleet, agent, ending=True)
        with waiting(f"{ident} is asked to exit"):
            one = fleet.dispatches.stop(ident)
        _say_ended(one, fleet.dispatches.show(ident), as_json=json)
    return 0


@click.command("kill")
@click.argument("agent", required=False)
@click.option("-r", "--reason", required=True, metavar="TEXT", help="the reason, for those who read it later")
@writing_home_unkeyed
def kill(agent: str | None, reason: str, **given: Any) -> None:
    """End an agent: its processes are killed and its task is failed. Its worktree and commits are kept.

    \b
    Examples:
      fleet kill 3f2a9c01 --reason "it runs in circles"
    """
    with Fleet.open(actor=given["as"]) as fleet:
        ident = pick_agent(fleet, agent, ending=True)
        with waiting(f"{ident} is asked to exit"):
            ended = fleet.dispatches.kill(ident, reason)
        _say_ended(ended, fleet.dispatches.show(ident), as_json=given["json"])


def _say_ended(ended: Ended, journal: Journal, *, as_json: bool) -> None:
    """Print whether an agent has ended, and which of its sessions and files are not released."""
    if as_json:
        terminal.say_json(ended)
        return
    place = f"{journal.project}/{journal.slug}" if journal.slug else journal.project
    who = f"{ended.id}, the {'coordinator' if journal.kind == 'coord' else journal.kind} of {place},"
    if not ended.settled:
        terminal.say(f"{who} was asked to exit and is not ended yet: {ended.why}")
        return
    left = f"; left: {'; '.join(ended.left)}" if ended.left else ""
    terminal.say(f"{who} is ended ({ended.exec_state}){left}")


COMMANDS = {"run": run, "dispatch": dispatch, "launch": launch, "settle": settle, "stop": stop, "kill": kill}
