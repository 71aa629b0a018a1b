"""Which agent is meant: told by an id, prefix, slug or @last; without one, on a terminal, picked from a list, problems first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from fleet.errors.families import BadInput
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from fleet.api.fleet import Fleet

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
    """The id of the agent that is meant; otherwise, where there is nobody to ask or nothing to choose from, that one.

    One that is to end is never meant by an empty answer.
    """
    if given:
        return fleet.dispatches.find(given)
    asking = sys.stdin.isatty() and sys.stdout.isatty()
    found = fleet.agents.list() if asking else []
    if found:
        return _chosen(found, first=None if ending else "1")
    if otherwise:
        return fleet.dispatches.find(otherwise)
    what = "no agents at work" if asking else "name an agent: its id, a prefix of it, its task's slug, or @last"
    raise BadInput(what=what)


def _chosen(agents: list[dict[str, Any]], *, first: str | None) -> str:
    found = sorted(agents, key=lambda agent: (agent["state"] not in _PROBLEMS, agent["started_at"]))
    for number, agent in enumerate(found, 1):
        on = f"{agent['project']}/{agent['task'] or ''}".rstrip("/")
        terminal.say(f"{number:>3}  {agent['id']}  {agent['state']:<18} {on}  {agent['detail']}".rstrip())
    numbers = [str(number) for number in range(1, len(found) + 1)]
    chosen = click.prompt("which (q: none)", type=click.Choice([*numbers, "q"]), default=first, show_choices=False)
    if chosen == "q":
        terminal.say("nothing was chosen")
        raise click.exceptions.Exit(0)
    return str(found[int(chosen) - 1]["id"])
