"""fleet ps, agents list, attach, peek, logs, diff."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from fleet.api.fleet import Fleet
from fleet.surfaces.cli import terminal
from fleet.surfaces.cli.options import Slug, json_option, reading
from fleet.surfaces.cli.picking import picked

_COLOURS = {"working": "cyan", "asks": "yellow", "idle": "yellow", "limit": "red", "exited": "red", "unknown": "red"}


def _list(**given: Any) -> None:
    with Fleet.open() as fleet:
        found = fleet.agents(given["project"])
    if given["json"]:
        terminal.say_json(found)
        return
    if not found:
        terminal.say("no agents at work: `fleet dispatch SLUG` starts one")
        return
    rows = [
        (a["id"], a["kind"], f"{a['project']}/{a['task'] or ''}".rstrip("/"), a["engine"] or "", a["autonomy"] or "", a["state"],
         a["source"], a["started_at"][11:19], a["detail"])
        for a in found
    ]  # fmt: skip
    for line in terminal.table(
        ("AGENT", "KIND", "TASK", "ENGINE", "AUTONOMY", "STATE", "LEARNT FROM", "SINCE", ""), rows
    ):
        terminal.say(line)


_HELP = """Who works on what, how it goes, and where that was learnt (process, report or screen).

\b
Examples:
  fleet ps
  fleet ps -p web --json
"""
ps = click.command("ps", help=_HELP)(reading(_list))


@click.group("agents")
def agents() -> None:
    """Agents at work.

    \b
    fleet agents list
    """


agents.command("list", help=_HELP.replace("fleet ps", "fleet agents list"))(reading(_list))


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
        words = fleet.attach_words(picked(fleet, agent))
    env = {name: value for name, value in os.environ.items() if name not in {"TMUX", "TMUX_PANE"}}
    sys.stdout.flush()
    os.execvpe(words[0], words, env)  # noqa: S606 - the terminal becomes tmux's


@click.command("peek")
@click.argument("agent", required=False)
@click.option("--history", is_flag=True, help="all that the terminal remembers")
@json_option
def peek(agent: str | None, **given: Any) -> None:
    """What an agent shows just now, without joining it.

    \b
    Examples:
      fleet peek 3f2a9c01
      fleet peek fix-login --history
    """
    with Fleet.open() as fleet:
        ident = picked(fleet, agent)
        text = fleet.screen(ident, history=given["history"])
    terminal.say_json({"id": ident, "screen": text}) if given["json"] else sys.stdout.write(text)


@click.command("logs")
@click.argument("agent", default="@last")
@json_option
def logs(agent: str, **given: Any) -> None:
    """All that an agent showed; kept after it has ended.

    \b
    Examples:
      fleet logs 3f2a9c01
    """
    with Fleet.open() as fleet:
        ident = agent if _is_kept(fleet, agent) else fleet.find(agent)
        text = fleet.screen(ident, history=True)
    terminal.say_json({"id": ident, "output": text}) if given["json"] else sys.stdout.write(text)


def _is_kept(fleet: Fleet, agent: str) -> bool:
    return f"{agent}.log" in fleet.files.names("logs")


@click.command("diff")
@click.argument("slug", type=Slug())
@click.option("--stat", is_flag=True, help="only which files, and how much")
@reading
def diff(slug: str, **given: Any) -> None:
    """What a task's branch changes, against the integration branch.

    \b
    Examples:
      fleet diff fix-login
      fleet diff fix-login --stat
    """
    with Fleet.open() as fleet:
        project = fleet.project_here(given["project"])
        text = fleet.diff(
            project=project, slug=slug, stat=given["stat"], colour=terminal.colourful() and not given["json"]
        )
    terminal.say_json({"project": project, "task": slug, "diff": text}) if given["json"] else sys.stdout.write(text)


COMMANDS = {"ps": ps, "agents": agents, "attach": attach, "peek": peek, "logs": logs, "diff": diff}
