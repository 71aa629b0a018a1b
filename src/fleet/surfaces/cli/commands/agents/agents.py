"""fleet agents, attach, peek, logs, diff."""

from __future__ import annotations

import sys

import click

from fleet.api.fleet import Fleet
from fleet.model.branches import task_branch
from fleet.model.results.agents import Difference, Output, Screen
from fleet.surfaces.cli.commands.reads import COMMANDS as READ
from fleet.surfaces.cli.options import Slug, json_option, reading
from fleet.surfaces.cli.ui import drawing, terminal
from fleet.surfaces.cli.ui.picking import picked
from fleet.world.home import paths
from fleet.world.process.programs import become


@click.group("agents")
def agents() -> None:
    """Agents at work.

    \b
    fleet agents list
    """


agents.add_command(READ["agents list"])


@click.command("attach")
@click.argument("agent", required=False)
def attach(agent: str | None) -> None:
    """Join an agent's terminal. Ctrl+Q leaves it; the agent goes on.

    \b
    Examples:
      fleet attach 3f2a9c01
      fleet attach fix-login
    """
    with Fleet.open() as fleet:
        words = fleet.agents.attach_words(picked(fleet, agent))
    sys.stdout.flush()
    become(fleet.funnel, words)


@click.command("peek")
@click.argument("agent", required=False)
@click.option("--history", is_flag=True, help="all that the terminal remembers")
@json_option
def peek(agent: str | None, *, history: bool, json: bool) -> None:
    """What an agent shows just now, without joining it.

    \b
    Examples:
      fleet peek 3f2a9c01
      fleet peek fix-login --history
    """
    with Fleet.open() as fleet:
        ident = picked(fleet, agent)
        text = fleet.agents.screen(ident, history=history)
    terminal.say_json(Screen(id=ident, screen=text)) if json else _show(text)


@click.command("logs")
@click.argument("agent", required=False)
@json_option
def logs(agent: str | None, *, json: bool) -> None:
    """All that an agent showed; kept after it has ended. Of a merge: what its verify command printed.

    \b
    Examples:
      fleet logs 3f2a9c01
      fleet logs @last
    """
    with Fleet.open() as fleet:
        ident = agent if agent and _is_kept(fleet, agent) else picked(fleet, agent, otherwise="@last")
        text = fleet.agents.screen(ident, history=True)
    terminal.say_json(Output(id=ident, output=text)) if json else _show(text)


def _show(text: str) -> None:
    """A terminal's text on another one: no blanks behind its lines, and rules no longer than this one is wide."""
    kept = "\n".join(each.rstrip() for each in text.split("\n")).strip("\n")
    for line in kept.split("\n") if kept else ():
        terminal.say_text(line[: terminal.room()] if len(set(line)) == 1 else line)


def _is_kept(fleet: Fleet, agent: str) -> bool:
    return not {f"{agent}.log", f"{agent}.verify.log"}.isdisjoint(fleet.files.names(paths.LOGS))


@click.command("diff")
@click.argument("slug", type=Slug())
@click.option("--stat", is_flag=True, help="only which files, and how much")
@reading
def diff(slug: str, *, project: str | None, stat: bool, json: bool) -> None:
    """What a task's branch changes, against the integration branch.

    Control characters are shown, not sent (␛ for ESC, ␍ for a carriage return); --json has the diff exactly.

    \b
    Examples:
      fleet diff fix-login
      fleet diff fix-login --stat
    """
    with Fleet.open() as fleet:
        here = fleet.project_here(project)
        text = fleet.dispatches.diff(project=here, slug=slug, stat=stat)
    if json:
        terminal.say_json(Difference(project=here, task=slug, diff=text))
    elif not text and terminal.is_terminal():
        terminal.say(f"{task_branch(slug)} changes nothing: its work is merged, or there is none yet")
    else:
        sys.stdout.writelines(drawing.diff(text))


COMMANDS = {"agents": agents, "attach": attach, "peek": peek, "logs": logs, "diff": diff}
