"""Which agent is meant: the one named by its id, a prefix of it, a slug or @last; else a person picks one from a list."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from fleet.api.fleet import Fleet
    from fleet.model.results.agents import AgentView

_PROBLEMS = (
    "asks",
    "stopped, no report",
    "limit",
    "failed_turn",
    "silent",
    "exited",
    "interrupted",
    "unknown",
    "dialog",
    "idle",
)


def picked(fleet: Fleet, given: str | None, *, otherwise: str | None = None, ending: bool = False) -> str:
    """The id of the agent that is meant: the given one, or the one that a person picks.

    Without a terminal, or without agents at work, it is `otherwise`. An agent that is to end (`ending`) is never the default.
    """
    if given:
        return fleet.dispatches.find(given)
    asking = sys.stdin.isatty() and sys.stdout.isatty()
    agents = fleet.agents.list() if asking else []
    if agents:
        return _chosen(agents, first=None if ending else "1")
    if otherwise:
        return fleet.dispatches.find(otherwise)
    what = "no agents at work" if asking else "name an agent: its id, a prefix of it, its task's slug, or @last"
    raise errors.BadInput(what=what)


def _chosen(agents: list[AgentView], *, first: str | None) -> str:
    """The id of the agent that a person picks; agents with problems are listed first."""
    listed = sorted(agents, key=lambda agent: (agent.state not in _PROBLEMS, agent.started_at or ""))
    for number, agent in enumerate(listed, 1):
        on = f"{agent.project}/{agent.task or ''}".rstrip("/")
        terminal.say(f"{number:>3}  {agent.id}  {agent.state:<18} {on}  {agent.detail}".rstrip())
    numbers = [str(number) for number in range(1, len(listed) + 1)]
    chosen = click.prompt("which (q: none)", type=click.Choice([*numbers, "q"]), default=first, show_choices=False)
    if chosen == "q":
        terminal.say("nothing was chosen")
        raise click.exceptions.Exit(0)
    return listed[int(chosen) - 1].id
