"""Which agent is meant: told by an id, prefix, slug or @last; without one, on a terminal, picked from a list, problems first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fleet.errors import BadInput
from fleet.surfaces.cli import terminal

if TYPE_CHECKING:
    from fleet.api.fleet import Fleet

_PROBLEMS = ("asks", "limit", "failed_turn", "exited", "unknown", "dialog", "idle")


def picked(fleet: Fleet, given: str | None) -> str:
    """The id of the agent that is meant."""
    if given:
        return fleet.find(given)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput(what="name an agent: its id, a prefix of it, its task's slug, or @last")
    found = sorted(fleet.agents(), key=lambda agent: (agent["state"] not in _PROBLEMS, agent["started_at"]))
    if not found:
        raise BadInput(what="no agents at work")
    for number, agent in enumerate(found, 1):
        on = f"{agent['project']}/{agent['task'] or ''}".rstrip("/")
        terminal.say(f"{number:>3}  {agent['id']}  {agent['state']:<14} {on}  {agent['detail']}")
    chosen = click.prompt("which", type=click.IntRange(1, len(found)), default=1)
    return str(found[chosen - 1]["id"])
