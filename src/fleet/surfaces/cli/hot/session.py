"""The two commands that tmux sessions call when an agent starts and ends, run without click and with few imports."""

from __future__ import annotations

import sys

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.names import DispatchId
from fleet.model.text import escapes
from fleet.world.process.programs import detach


def run(words: list[str]) -> int:
    """Run `fleet launch ID` or `fleet settle --hint SESSION`; return the exit code."""
    if words[0] == "launch":
        launch(words[1])
    else:
        settle_soon(words[2])
    return 0


def launch(ident: str) -> None:
    """Replace this process by the agent of a dispatch; print why when the dispatch was superseded."""
    with Fleet.open(make=False) as fleet:
        try:
            agent = fleet.sessions.launch(ident)
        except errors.Superseded as error:
            sys.stdout.write(f"fleet: {escapes.line(str(error))}\n")
            return
    sys.stdout.flush()
    agent.become(fleet.funnel)


def settle_soon(given: str) -> None:
    """Settle the dispatch of a session whose agent is exiting, in the background. "fleet-" alone belongs to no agent."""
    if given == "fleet-":
        return
    ident = DispatchId(given.removeprefix("fleet-"), source="the session's name")
    if not detach():
        with Fleet.open(make=False) as fleet:
            fleet.sessions.settle_soon(ident)
