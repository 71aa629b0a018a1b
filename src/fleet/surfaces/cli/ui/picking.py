"""Choose the agent of a command: by id, prefix of an id, slug or @last; without any, the person picks from a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from fleet.api.fleet import Fleet
    from fleet.model.results.agents import AgentView

# The states of the agents that stand first in the list.
_PROBLEMS = (
    "asks",
    "stopped, no report",
    "limit",
    "login",
    "failed_turn",
    "silent",
    "stopped",
    "exited",
    "interrupted",
    "unknown",
    "dialog",
    "idle",
)


def pick_agent(fleet: Fleet, given: str | None, *, default: str | None = None, ending: bool = False) -> str:
    """Return the id of the agent that was named, or that the person picks from a list of running agents.

    Without a terminal or without running agents, return the agent that `default` names; raise BadInput when that is
    None. `ending`: the command ends the agent, so no agent of the list is preselected.
    """
    if given:
        return fleet.dispatches.find(given)
    is_interactive = terminal.is_interactive()
    agents = fleet.agents.list() if is_interactive else []
    if agents:
        return _ask_which_agent(agents, first=None if ending else "1")
    if default:
        return fleet.dispatches.find(default)
    what = (
        "no agents are running"
        if is_interactive
        else "name an agent: its id, a prefix of it, its task's slug, or @last"
    )
    raise errors.BadInput(what=what)


def _ask_which_agent(agents: list[AgentView], *, first: str | None) -> str:
    """Let the person pick an agent from a list, problems first; return the agent's id.

    `first` is the number that Enter chooses, None for none. Ends the command when the person chooses none.
    """
    ordered = sorted(agents, key=lambda agent: (agent.state not in _PROBLEMS, agent.started_at or ""))
    for number, agent in enumerate(ordered, 1):
        on = f"{agent.project}/{agent.task or ''}".rstrip("/")
        terminal.say(f"{number:>3}  {agent.id}  {agent.state:<18} {on}  {agent.detail}".rstrip())
    numbers = [str(number) for number in range(1, len(ordered) + 1)]
    chosen = click.prompt("which (q: none)", type=click.Choice([*numbers, "q"]), default=first, show_choices=False)
    if chosen == "q":
        terminal.say("nothing was chosen")
        raise click.exceptions.Exit(0)
    return ordered[int(chosen) - 1].id
