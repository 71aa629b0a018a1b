"""The commands that tmux sessions call when an agent starts and ends, run without click and with few imports."""

from __future__ import annotations

import gc
import os
import sys

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model import FLEET_DISPATCH_ID, FLEET_PROJECT, FLEET_TASK, names
from fleet.model.text import escapes
from fleet.world.process.programs import detach

_FAILED = 1


def run(words: list[str]) -> int:
    """Run `fleet launch ID`, `fleet job step` or `fleet settle --hint SESSION`; return the exit code."""
    if words[0] == "launch":
        return launch(words[1])
    if words[0] == "job":
        return step()
    settle_soon(words[2])
    return 0


def launch(ident: str) -> int:
    """Become the agent of a dispatch (exec), or perform the steps of a job's item in this process.

    Returns the exit code. Print why and return 0 when the dispatch was superseded.
    """
    with Fleet.open(make=False, asks_daemon=False) as fleet:
        try:
            agent = fleet.sessions.launch(ident)
        except errors.Superseded as error:
            sys.stdout.write(f"fleet: {escapes.line(str(error))}\n")
            return 0
    sys.stdout.flush()
    if not agent.is_fleet:
        agent.become(fleet.funnel)
    agent.go_on()
    return step()


def step() -> int:
    """Perform the steps of a job's item, inside the item's session.

    Returns the exit code. Raise BadInput outside such a session.
    """
    gc.freeze()  # so that the first collection does not look at all that was imported
    gc.enable()
    try:
        dispatch, project, slug = (os.environ[name] for name in (FLEET_DISPATCH_ID, FLEET_PROJECT, FLEET_TASK))
    except KeyError as error:
        raise errors.BadInput(what=f"{error.args[0]} is not set: this command is for the sessions of a job") from None
    with Fleet.open(asks_daemon=False) as fleet:
        return 0 if fleet.jobs.step(dispatch, project, slug, _write_output) else _FAILED


def _write_output(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def settle_soon(given: str) -> None:
    """Settle the dispatch of the tmux session named `given`, whose agent is exiting, in a background process.

    Do nothing for a name without a dispatch id.
    """
    if not (dispatch := names.dispatch_of_session(given)):
        return
    ident = names.DispatchId(dispatch, source="the session's name")
    if not detach():
        with Fleet.open(make=False) as fleet:
            fleet.sessions.settle_soon(ident)
