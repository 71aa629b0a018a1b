"""The commands `fleet agents`, `attach`, `peek`, `logs` and `diff`."""

from __future__ import annotations

import sys

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.branches import task_branch
from fleet.model.results.agents import Difference, Output, Screen
from fleet.surfaces.cli.commands.reads import COMMANDS as READ
from fleet.surfaces.cli.options import Slug, json_option, reading
from fleet.surfaces.cli.ui import diff_drawing, terminal
from fleet.surfaces.cli.ui.picking import pick_agent
from fleet.world.home import paths
from fleet.world.process.programs import become


@click.group("agents")
def agents() -> None:
    """List the running agents.

    \b
    fleet agents list
    """


agents.add_command(READ["agents list"])


@click.command("attach")
@click.argument("agent", required=False)
def attach(agent: str | None) -> None:
    """Join an agent's terminal. Ctrl+Q leaves it; the agent continues.

    \b
    Examples:
      fleet attach 3f2a9c01
      fleet attach fix-login
    """
    with Fleet.open() as fleet:
        words = fleet.agents.attach_words(pick_agent(fleet, agent))
    sys.stdout.flush()
    become(fleet.funnel, words)


@click.command("peek")
@click.argument("agent", required=False)
@click.option("--history", is_flag=True, help="print the whole history of the terminal")
@json_option
def peek(agent: str | None, *, history: bool, json: bool) -> None:
    """Print what an agent's terminal shows now, without joining it; for a merge, what its verify command has printed so far.

    \b
    Examples:
      fleet peek 3f2a9c01
      fleet peek fix-login --history
    """
    with Fleet.open() as fleet:
        ident = pick_agent(fleet, agent)
        text = fleet.agents.screen(ident, history=history)
    terminal.say_json(Screen(id=ident, screen=text)) if json else _print_screen(text)


@click.command("logs")
@click.argument("agent", required=False)
@click.option("-f", "--follow", is_flag=True, help="go on printing what comes, until the agent has ended")
@json_option
def logs(agent: str | None, *, follow: bool, json: bool) -> None:
    """Print an agent's whole terminal output, also after it has ended; for a merge, the output of its verify command.

    \b
    Examples:
      fleet logs 3f2a9c01
      fleet logs @last
      fleet logs fix-login --follow
    """
    if follow and json:
        raise errors.BadInput(what="--follow prints lines as they come; leave out --json")
    with Fleet.open() as fleet:
        ident = agent if agent and _has_log(fleet, agent) else pick_agent(fleet, agent, default="@last")
        if follow:
            for lines in fleet.agents.follow(ident):
                _print_screen("\n".join(lines), whole=True)
                sys.stdout.flush()
            return
        text = fleet.agents.screen(ident, history=True)
    terminal.say_json(Output(id=ident, output=text)) if json else _print_screen(text)


def _print_screen(text: str, *, whole: bool = False) -> None:
    """Print the text of an agent's terminal, without trailing blanks.

    Long lines of one repeated character are cut to this terminal's width. With `whole`, empty lines at the beginning and
    the end are printed too.
    """
    lines = "\n".join(line.rstrip() for line in text.split("\n"))
    kept = lines if whole else lines.strip("\n")
    if not kept and not whole:
        return
    room = terminal.cut_width()
    drawn = (line[:room] if len(set(line)) == 1 else line for line in kept.split("\n"))
    sys.stdout.write("\n".join(drawn) + "\n")  # one write: a log may have a million lines


def _has_log(fleet: Fleet, agent: str) -> bool:
    """Whether the home keeps a log file for the agent with this id."""
    return not {f"{agent}.log", f"{agent}.verify.log", f"{agent}.setup.log"}.isdisjoint(fleet.files.names(paths.LOGS))


@click.command("diff")
@click.argument("slug", type=Slug())
@click.option("--stat", is_flag=True, help="print only the files and how much they change")
@reading
def diff(slug: str, *, project: str | None, stat: bool, json: bool) -> None:
    """Print what a task's branch changes, compared with the integration branch.

    Control characters are made visible (␛ for ESC, ␍ for a carriage return); --json prints the exact diff.

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
        terminal.say(f"{task_branch(slug)} changes nothing: its work is merged, or it has no commits yet")
    else:
        sys.stdout.writelines(diff_drawing.diff(text))


COMMANDS = {"agents": agents, "attach": attach, "peek": peek, "logs": logs, "diff": diff}
