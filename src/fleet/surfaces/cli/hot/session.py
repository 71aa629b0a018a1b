"""What sessions call, each time an agent starts and ends: answered without click and without most of fleet."""

from __future__ import annotations

import sys

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.names import DispatchId
from fleet.model.text import escapes
from fleet.world.process.programs import detached


def run(words: list[str]) -> int:
    """Do it."""
    if words[0] == "launch":
        launch(words[1])
    else:
        settle_soon(words[2])
    return 0


def launch(ident: str) -> None:
    """Become the agent of a dispatch."""
    with Fleet.open(make=False) as fleet:
        try:
            made = fleet.sessions.launch(ident)
        except errors.Superseded as error:
            sys.stdout.write(f"fleet: {escapes.line(str(error))}\n")
            return
    sys.stdout.flush()
    made.become(fleet.funnel)


def settle_soon(given: str) -> None:
    """Settle a dispatch whose agent is just exiting, in the background. A pane without a stamp is no agent's."""
    if given == "fleet-":
        return
    ident = DispatchId(given.removeprefix("fleet-"), source="the session's name")
    if not detached():
        with Fleet.open(make=False) as fleet:
            fleet.sessions.settle_soon(ident)
