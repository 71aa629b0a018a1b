"""What tests of coordinating say and ask: coordinators that do one thing, ticks in their name, and what the store knows."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cli.commandline import Answer
from plugins.account import command_of
from staging.raw import select
from staging.stage import FLEET, HALTING, PATIENCE, Stage, answer

from fleet.api.fleet import Fleet
from fleet.model.dispatch.one_time_proof import VARIABLE
from fleet.store import queries as q
from fleet.verbs.dispatch.plan import Wanted

SLEEP = ("sleep", "1000")
_IN_PROGRESS = 12
# It takes the seat, if it has to prove itself, and then does nothing more.
PROVES = ("sh", "-c", "fleet coord tick; exec sleep 1000")
STUBBORN = ("sh", "-c", "trap '' TERM HUP; while :; do sleep 1; done")
# Engines of a test: one that proves itself and sleeps, one that never proves itself, one that does what hand.sh in the home says.
_ENGINE = 'summary = "a test\'s"\nprogram = "sh"\nstart = {start}\ninteractive = false\n'
ENGINES = {
    "proves": _ENGINE.format(start=json.dumps(list(PROVES))),
    "silent": _ENGINE.format(start='["sh", "-c", "exec sleep 1000"]') + "proof_timeout = 1.0\n",
    "hand": _ENGINE.format(start='["sh", "-c", ". \\"$FLEET_HOME/hand.sh\\"", "hand", "{remote}"]')
    + 'remote = ["--afar"]\n',
}


def until(what: Callable[[], object]) -> None:
    """Wait for something that other processes are doing, on a machine that is doing much else."""
    deadline = time.monotonic() + 2 * PATIENCE
    while not what():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def on(engine: str, **more: object) -> Wanted:
    """A coordinator on an engine."""
    return Wanted(project="p", slug=None, kind="coord", engine=engine, **more)


def coordinator(*words: str, **more: object) -> Wanted:
    return Wanted(project="p", slug=None, kind="coord", engine="shell", command=words or PROVES, **more)


def seat(fleet: Fleet) -> dict:
    return fleet.store.read(lambda rows: q.seat_of(rows, project="p")) or {"holder": None, "epoch": 0}


def seated(stage: Stage, fleet: Fleet, *words: str) -> str:
    """A coordinator in the seat, at work."""
    ident = fleet.coord.start(coordinator(*(words or SLEEP))).id
    stage.launched(fleet, ident)
    return ident


def replacing(stage: Stage, *words: str) -> "object":
    """A process that replaces the coordinator, and waits for the proof."""
    return stage.start(sys.executable, HALTING, "never", "", "replace", *words)


def candidate(stage: Stage, fleet: Fleet) -> str:
    """Whoever is to be next, once it is at work."""
    until(lambda: seat(fleet).candidate)
    ident = seat(fleet).candidate
    stage.launched(fleet, ident)
    return ident


def nonce_of(stage: Stage, fleet: Fleet, ident: str) -> str:
    """What a candidate was given: its own process is the one place where it can be read."""
    pid = stage.launched(fleet, ident).pid
    found: list[str] = []

    def told() -> list[str]:
        found[:] = [each.partition("=")[2] for each in environment(pid) if each.startswith(f"{VARIABLE}=")]
        return found

    until(told)
    return found[0]


def environment(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return []


def speaking(stage: Stage, ident: str, *words: str, nonce: str = "") -> Answer:
    """fleet, called by an agent."""
    more = {"FLEET_DISPATCH_ID": ident, "FLEET_PROJECT": "p"} | ({VARIABLE: nonce} if nonce else {})
    return answer(stage.start(FLEET, *words, env=stage.around(**more)))


def ticked(stage: Stage, ident: str, *words: str, nonce: str = "") -> dict:
    """One tick of a coordinator, after the one that it may be doing by itself."""
    answers: list[Answer] = []

    def over() -> bool:
        answers.append(speaking(stage, ident, "coord", "tick", *words, "--json", nonce=nonce))
        return answers[-1].code != _IN_PROGRESS

    until(over)
    assert answers[-1].code == 0, answers[-1]
    return answers[-1].json


def rested(stage: Stage, fleet: Fleet, ident: str) -> str:
    """A coordinator that proves itself, once it has done so."""
    pid = stage.launched(fleet, ident).pid
    until(lambda: command_of(pid)[:1] == ["sleep"])
    return ident


def newest(fleet: Fleet) -> int:
    return fleet.operations.newest()


def asked(fleet: Fleet, sql: str) -> list[dict]:
    """What the store says, in its own language."""
    return fleet.store.read(lambda rows: select(rows, sql))


def replaced(stage: Stage, fleet: Fleet, *words: str) -> tuple[str, str]:
    """The old coordinator, which lives on, and the new one in the seat."""
    old = seated(stage, fleet)
    return old, fleet.coord.replace(coordinator(*words)).id
