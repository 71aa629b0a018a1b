"""Kill a child before, during and after each of its effects in turn, then sweep the home and check it.

Children are forked from a single-threaded parent, because a fork is cheaper than a new interpreter.
"""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from fleet.store import queries as q
from fleet.testing.crash.watchers import DIES, HELD, WAYS, Killer, Recorder
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fleet.testing.crash.scenarios import Scenario
    from fleet.testing.scene import Scene

T = TypeVar("T")
PATIENCE = 10.0
_FAILED = 3
_STOPPED = "T"
# A running session may mark its own claim as live while the stopped tmux client still waits for its answer.
_LAUNCHED = {"tmux_session allocating": "tmux_session live"}
# Effects whose program belongs to the dispatch and changes nothing that a claim guards: a sweep ends it with the dead dispatch.
_ENDED = frozenset({"verify"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """The death of a child at the effect with this number, from 0. `way` is one of WAYS: before, during or after it."""

    number: int
    way: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What one death of a child showed, or one double death: the faults that were found and what the sweeps did.

    `died` is False when the child, or in a double death one of the two processes, ended without reaching its effect: a
    verb may need fewer effects, such as signals, than when its effects were recorded.
    """

    scenario: str
    effect: str
    number: int
    # How many effects the scenario has.
    of: int
    way: str
    died: bool
    faults: list[str] = field(default_factory=list)
    swept: list[str] = field(default_factory=list)
    # Of a program that still ran while a sweep came: the claims that it worked on, and their states.
    held: list[str] = field(default_factory=list)
    # Of a double death: the effect of the recovery at which the recovery was killed, and the way.
    second: str = ""
    second_way: str = ""
    # How many deaths the scenario has in all, of which a part may be played. Not known of double deaths.
    deaths: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """The effects of a child that was not killed, and the numbers of those that another program performed."""

    effects: list[str]
    performed: set[int]

    def deaths(self) -> list[Death]:
        """Return every death to try: before and after each effect, and during those that another program performs."""
        return [
            Death(number=number, way=way)
            for number, effect in enumerate(self.effects)
            for way in WAYS
            if not way.startswith("during") or (number in self.performed and not (way == HELD and effect in _ENDED))
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """Whether the child died at its effect.

    When the home was swept while the program of that effect still ran: the `faults` of the sweep, and the claims that
    the program `held`. Else both are empty.
    """

    died: bool
    faults: list[str]
    held: list[str]


def effects_of(scenario: Scenario, store: str) -> Played:
    """Return all effects of a scenario's act, played without killing it."""
    with scenario.scene(store) as scene:
        scenario.prepare(scene)
        return recorded(scene, lambda: act_out(scenario, scene))


def cases(scenario: Scenario, store: str, *, every: int, offset: int) -> Iterator[Case]:
    """Play a scenario once for each death, on the named store; yield what was found after each.

    With `every`, only every n-th death is played, beginning at `offset`.
    """
    played = effects_of(scenario, store)
    for death in part_of(played.deaths(), every, offset):
        yield run_case(scenario, store, played, death)


def held_cases(scenario: Scenario, store: str, effect: str) -> Iterator[Case]:
    """Play the deaths during one effect, with a sweep while the program that performs it still runs; yield each case."""
    played = effects_of(scenario, store)
    for death in played.deaths():
        if death.way == HELD and played.effects[death.number] == effect:
            yield run_case(scenario, store, played, death)


def part_of(deaths: list[T], every: int, offset: int) -> list[T]:
    """Return every n-th (`every`) of the deaths, starting at the offset modulo n; at least one if there are any."""
    return deaths[offset % max(min(every, len(deaths)), 1) :: every]


def run_case(scenario: Scenario, store: str, played: Played, death: Death) -> Case:
    """Play a scenario with one death, recover and sweep; return the case with its faults."""
    with scenario.scene(store) as scene:
        scenario.prepare(scene)
        killed = kill_once(scene, lambda: act_out(scenario, scene), death)
        faults, swept = look_after(scenario, scene)
        return Case(
            scenario=scenario.name,
            effect=played.effects[death.number],
            number=death.number,
            of=len(played.effects),
            way=death.way,
            died=killed.died,
            faults=killed.faults + faults,
            swept=swept,
            held=killed.held,
            deaths=len(played.deaths()),
        )


def act_out(scenario: Scenario, scene: Scene) -> None:
    """Perform the act of the scenario."""
    with scene.fleet() as fleet:
        scenario.act(fleet)


def look_after(scenario: Scenario, scene: Scene) -> tuple[list[str], list[str]]:
    """Do what the scenario does after a death, sweep, check and finish; return the faults, and what the sweeps did.

    The scene is swept until a sweep does nothing; whatever one more sweep does is a fault.
    """
    faults = scenario.after_death(scene)
    swept = _sweep_until_quiet(scene)
    faults += [f"the second sweep acted: {each}" for each in sweep(scene)]
    faults += scenario.check(scene)
    faults += scenario.finish(scene)
    return faults, swept


def recorded(scene: Scene, act: Callable[[], object]) -> Played:
    """Perform an act in a child that is not killed, and return its effects; raise RuntimeError when the act fails."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        watcher = Recorder()
        code = _watched(scene, act, watcher)
        _write_all(write, json.dumps([watcher.effects, watcher.programs()]).encode())
        os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        effects, performed = json.loads(pipe.read() or b"[[], []]")
    _pid, status = os.waitpid(child, 0)
    if status != 0:
        msg = f"the act failed, and nobody had killed it: status {status}"
        raise RuntimeError(msg)
    return Played(effects=effects, performed=set(performed))


def kill_once(scene: Scene, act: Callable[[], object], death: Death) -> Killed:
    """Perform an act in a child, kill the child at an effect, and wait for the end of the effect's program.

    The way of the death says whether that program is killed or goes on, and whether the home is swept while it lives.
    Raise RuntimeError when the act fails before the child could be killed.
    """
    died, program = _kill_at_effect(scene, act, death)
    held, faults = _sweep_beside(scene, program) if program and death.way == HELD else ([], [])
    _end_program(program, death.way)
    return Killed(died=died, faults=faults, held=held)


def _kill_at_effect(scene: Scene, act: Callable[[], object], death: Death) -> tuple[bool, int]:
    """Perform an act in a child and kill the child at an effect; raise RuntimeError when the act fails before.

    Return whether it died there, and the pid of the program that it left stopped, or 0.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os._exit(_watched(scene, act, Killer(death.number, death.way, write)))
    os.close(write)
    _pid, status = os.waitpid(child, 0)
    with os.fdopen(read, "rb", buffering=0) as pipe:
        os.set_blocking(pipe.fileno(), False)
        pid = pipe.read(32) or b""
    if status != 0 and not os.WIFSIGNALED(status):
        msg = f"the act failed before {death}: status {status}"
        raise RuntimeError(msg)
    return os.WIFSIGNALED(status), int(pid) if pid else 0


def _watched(scene: Scene, act: Callable[[], object], watcher: Recorder) -> int:
    """In the child: perform the act with a watcher of its effects; return the exit code, 3 when the act raised."""
    scene.watcher = watcher
    try:
        act()
    except BaseException as error:  # noqa: BLE001 - the parent is told
        os.write(2, f"in the child: {error!r}\n".encode())
        return _FAILED
    return 0


def _write_all(pipe: int, text: bytes) -> None:
    with os.fdopen(pipe, "wb") as file:
        file.write(text)


def _sweep_beside(scene: Scene, program: int) -> tuple[list[str], list[str]]:
    """Sweep while a stopped program lives whose fleet process is dead; return the claims that it holds, and the faults.

    The sweep must neither end the program nor change these claims.
    """
    stopped, before = _state_of(program), _held_claims(scene)
    sweep(scene)
    # A short program may have ended before it could be stopped.
    ran = stopped == _STOPPED and _state_of(program) != _STOPPED
    faults = [f"the sweep touched program {program}, which still ran"] if ran else []
    after = _held_claims(scene)
    faults += [
        f"the sweep changed what a program still works on: {state} became {after.get(ident, 'free')}"
        for ident, state in before.items()
        if after.get(ident) not in {state, _LAUNCHED.get(state)}
    ]
    return sorted(before.values()), faults


def _held_claims(scene: Scene) -> dict[str, str]:
    """Return the kind and state of each claim whose effect lock is held, by id."""
    with scene.fleet() as fleet:
        names = [name.removesuffix(".lock") for name in fleet.files.names(paths.EFFECT_LOCKS)]
        held = [ident for ident in names if not fleet.world.effect_lock(ident).is_free()]
        rows = [fleet.store.read(partial(q.claim_by_id, id=ident)) for ident in held]
    return {row.id: f"{row.kind} {row.state}" for row in rows if row is not None}


def _state_of(pid: int) -> str:
    """Return the kernel's letter for the state of a process; empty when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def _end_program(program: int, way: str) -> None:
    """Kill the stopped program when `way` is DIES, else let it continue; wait at most ten seconds until it is gone.

    Do nothing when `program` is 0: there is none.
    """
    if not program:
        return
    try:
        os.kill(program, signal.SIGKILL if way == DIES else signal.SIGCONT)
    except ProcessLookupError:
        return
    until = time.monotonic() + PATIENCE
    while os.path.exists(f"/proc/{program}") and time.monotonic() < until:
        time.sleep(0.005)


def sweep(scene: Scene) -> list[str]:
    """Sweep the home and return what the sweep did."""
    with scene.fleet("sweeper") as fleet:
        return [f"{each.what}: {each.action}" for each in fleet.sweep.run(kill=True) if each.done]


def _sweep_until_quiet(scene: Scene) -> list[str]:
    """Sweep until a sweep does nothing, at most five times; return what was done.

    One sweep is enough, except for processes that are still dying.
    """
    swept: list[str] = []
    for _ in range(5):
        actions = sweep(scene)
        swept += actions
        if not actions:
            break
    return swept
