"""What the tests of living with agents share: scripted agents, hooks called by hand, and the operations they leave."""

import json
import subprocess
from typing import Any

from staging.stage import FLEET, Stage

from fleet.api.fleet import Fleet
from fleet.store import queries as q
from fleet.testing.crash.scenarios import until

# What comes next is told in another tick of the kernel's clock.
BEGIN = ("hook SessionStart", 'hook UserPromptSubmit {"prompt": "go"}', "wait 0.05")


def scripted(stage: Stage, fleet: Fleet, *steps: str, slug: str = "t", begin: bool = True) -> str:
    """An agent that has told fleet that it works, and goes on with these steps."""
    ident = stage.dispatch(fleet, slug, engine="scripted", script="\n".join([*(BEGIN if begin else ()), *steps]) + "\n")
    if begin:
        until(lambda: begun(fleet, ident))
    return ident


def begun(fleet: Fleet, ident: str) -> bool:
    """Whether both of its first words have been heard."""
    whys = set(_whys(fleet))
    return {f"hook SessionStart of {ident}", f"hook UserPromptSubmit of {ident}"} <= whys


def agent(fleet: Fleet, ident: str) -> dict[str, Any]:
    return next(each for each in fleet.agents.list() if each.id == ident)


def until_state(fleet: Fleet, ident: str, state: str) -> dict[str, Any]:
    until(lambda: agent(fleet, ident).state == state)
    return agent(fleet, ident)


def call(stage: Stage, ident: str, event: str, engine: str = "scripted", **told: Any) -> "subprocess.Popen[str]":
    """A hook, as the engine calls it; still running."""
    child = subprocess.Popen(
        [FLEET, "hook", event, "--engine", engine],
        env=stage.around(FLEET_DISPATCH_ID=ident),
        cwd=stage.repository,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    stage.started.append(child)
    assert child.stdin is not None
    child.stdin.write(json.dumps(told))
    child.stdin.close()
    child.stdin = None
    return child


def hook(stage: Stage, ident: str, event: str, **told: Any) -> dict[str, Any] | None:
    """A hook, and what the engine reads. It never fails."""
    child = call(stage, ident, event, **told)
    out, err = child.communicate(timeout=90)
    assert (child.returncode, err) == (0, ""), (child.returncode, out, err)
    return json.loads(out) if out else None


def messages_of(fleet: Fleet, ident: str) -> list[dict[str, Any]]:
    return fleet.store.read(lambda rows: q.waiting_messages(rows, dispatch=ident))


def count_hooks(fleet: Fleet, ident: str) -> int:
    """How many reports of an agent were written down."""
    return sum(why.startswith("hook ") and why.endswith(f" of {ident}") for why in _whys(fleet))


def _whys(fleet: Fleet) -> list[str]:
    """Why whatever was written down was written down."""
    rows = fleet.store.read(
        lambda snapshot: q.operations_after(snapshot, after=0, until=fleet.operations.newest(), most=10_000)
    )
    return [row.why for row in rows]


def known(fleet: Fleet, ident: str) -> dict[str, Any]:
    found = fleet.store.read(lambda rows: q.heard_agent(rows, dispatch=ident))
    assert found is not None
    return found
