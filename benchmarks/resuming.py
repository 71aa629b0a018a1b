"""The gate of a piece of work: how long it takes to lock a free one, a dead holder's, and to be refused a living holder's."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from benchmarks.table import Table, at_most, ms, times
from benchmarks.timing import taking_turns, timed
from fleet.errors.contested import GateHeld
from fleet.world.funnel import Funnel
from fleet.world.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fleet.world.files.gates import Gate

ROUNDS = 21
SMALLEST = {"ROUNDS": 2}
# Limits in milliseconds: for locking a free gate, and for everything else.
ACQUIRING, STALE = 100, 500
HOLD = """
import os, sys
from fleet.world.funnel import Funnel
from fleet.world.world import World
World(sys.argv[1], Funnel()).work_gate(sys.argv[2], "t").take()
print("held", flush=True)
sys.stdin.read()
"""


def run(directory: Path) -> Iterator[Table]:
    """Yield the table of the times to lock, to be refused, and to prove who holds the gate."""
    world = World(str(directory), Funnel())
    free, dead, living = (world.work_gate(f"work-p/{name}", name) for name in ("free", "dead", "living"))
    child = _held(directory, "living")
    try:
        acts: dict[str, Callable[[], float]] = {
            "acquire a free lock": timed(lambda: _taken(free)),
            "acquire a dead holder's": _stale(directory, dead),
            "be refused a living holder's": timed(lambda: _refused(living)),
            "prove who holds it, for --force": timed(lambda: _proven(world, living)),
        }
        found = taking_turns(acts, rounds=ROUNDS)
    finally:
        child.kill()
        child.wait()
    table = Table(title="the lock of a resume, in milliseconds", columns=("what", "median", "slowest", "times faster"))
    for name, sample in found.items():
        limit = ACQUIRING if name == "acquire a free lock" else STALE
        table.add(name, ms(sample.median), ms(sample.slowest), times(limit / 1000 / sample.median),
                  judged=sample.median * 1000, target=at_most(limit))  # fmt: skip
    yield table


def _held(directory: Path, name: str) -> subprocess.Popen[str]:
    """Start a child that takes a gate and keeps it until it ends; return the child when it has the gate."""
    words = [sys.executable, "-c", HOLD, str(directory), f"work-p/{name}"]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def _stale(directory: Path, gate: Gate) -> Callable[[], float]:
    """Return an act that locks a gate whose holder was just killed, and returns the seconds of locking."""

    def act() -> float:
        child = _held(directory, "dead")
        child.kill()
        child.communicate()
        return timed(lambda: _taken(gate))()

    return act


def _taken(gate: Gate) -> None:
    """Take a gate and give it back."""
    gate.take()
    gate.give()


def _refused(gate: Gate) -> None:
    """Try to take a gate that somebody holds; raise AssertionError when that is not refused."""
    try:
        gate.take()
    except GateHeld:
        return
    msg = "a living holder's lock was taken"
    raise AssertionError(msg)


def _proven(world: World, gate: Gate) -> None:
    """Find out who holds a gate; raise AssertionError unless that process lives and has the gate open."""
    holder = gate.holder()
    assert holder is not None
    assert world.processes.life(holder.who) == "alive"
    assert gate.is_open_in(holder.pid)
