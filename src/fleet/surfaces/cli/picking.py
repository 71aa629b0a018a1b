"""Which agent is meant: told by an id, prefix, slug or @last; without one, on a terminal, picked from a list, problems first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from fleet.errors import BadInput
from fleet.surfaces.cli import terminal

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


def picked(fleet: Fleet, given: str | None, *, otherwise: str | None = None) -> str:
    """The id of the agent that is meant; otherwise, where there is nobody to ask or nothing to choose from, that one."""
    if given:
        return fleet.find(given)
    asking = sys.stdin.isatty() and sys.stdout.isatty()
    found = fleet.agents() if asking else []
    if found:
        return _chosen(found)
    if otherwise:
        return fleet.find(otherwise)
    what = "no agents at work" if asking else "name an agent: its id, a prefix of it, its task's slug, or @last"
    raise BadInput(what=what)


def _chosen(agents: list[dict[str, Any]]) -> str:
    found = sorted(agents, key=lambda agent: (agent["state"] not in _PROBLEMS, agent["started_at"]))
    for number, agent in enumerate(found, 1):
        on = f"{agent['project']}/{agent['task'] or ''}".rstrip("/")
        terminal.say(f"{number:>3}  {agent['id']}  {agent['state']:<14} {on}  {agent['detail']}".rstrip())
    chosen = click.prompt("which", type=click.IntRange(1, len(found)), default=1)
    return str(found[chosen - 1]["id"])
