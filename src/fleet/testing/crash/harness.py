"""The crash harness: kill a child before, during and after each of its effects in turn, then sweep the home.

    python -m fleet.testing.crash SCENARIO [STORE] [--every N] [--offset N]

Children are forked from a single-threaded parent, because a fork is cheaper than a new interpreter. Prints one JSON object a case.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from fleet.testing.crash.job_scenarios import JOB_SCENARIOS
from fleet.testing.crash.merge_scenarios import MERGE_SCENARIOS
from fleet.testing.crash.scenarios import SCENARIOS as SINGLE
from fleet.testing.crash.seat_scenarios import SEAT_SCENARIOS

if TYPE_CHECKING:
    from fleet.testing.crash.scenarios import Scenario
    from fleet.testing.scene import Scene

# Effects that only ask. A death around one of them leaves the world as the effect before did, so it is not tried.
QUESTIONS = (
    "tmux list", "tmux capture-pane", "git rev-parse", "git for-each-ref", "git worktree list", "git status", "git rev-list", "git merge-base",
    "git symbolic-ref", "git ls-files", "git log", "git diff", "git --version", "tmux -V",
)  # fmt: skip
SCENARIOS = SINGLE | MERGE_SCENARIOS | JOB_SCENARIOS | SEAT_SCENARIOS
WAYS = ("before", "after", "during, the program lives on", "during, the program dies too")
PATIENCE = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One death of the child, and the faults and sweeps that came after it."""

    scenario: str
    effect: str
    number: int
    way: str
    faults: list[str] = field(default_factory=list)
    swept: list[str] = field(default_factory=list)


class Recorder:
    """Records every effect of the child, and which effects another program performs."""

    def __init__(self) -> None:
        self.effects: list[str] = []
        self.performed: set[int] = set()
        # The numbers of the effects that have begun and not ended, the innermost last; and the pid of the running program.
        self.under_way: list[int] = []
        self.program = 0

    def before(self, effect: str) -> None:
        """Record that an effect begins."""
        self.under_way.append(len(self.effects))
        self.effects.append(effect)

    def during(self, _effect: str, pid: int) -> None:
        """Record the program that performs the effect."""
        self.performed.add(self.under_way[-1])
        self.program = pid

    def after(self, _effect: str) -> None:
        """Record that the effect has ended."""
        if self.under_way.pop() in self.performed:
            self.program = 0


class Killer(Recorder):
    """Kills its own process at one effect: before it, during it or after it."""

    def __init__(self, number: int, way: str, pipe: int) -> None:
        super().__init__()
        self._number = number
        self._way = way
        self._pipe = pipe

    def before(self, effect: str) -> None:
        """Die before the chosen effect."""
        super().before(effect)
        if self._way == "before" and self.under_way[-1] == self._number:
            self._die()

    def during(self, effect: str, pid: int) -> None:
        """Die during the chosen effect; the program that performs the effect is stopped."""
        super().during(effect, pid)
        if self._way.startswith("during") and self.under_way[-1] == self._number:
            os.kill(pid, signal.SIGSTOP)
            self._die()

    def after(self, effect: str) -> None:
        """Die after the chosen effect."""
        number = self.under_way[-1]
        super().after(effect)
        if self._way == "after" and number == self._number:
            self._die()

    def _die(self) -> None:
        """Write the pid of the program that is still running into the pipe, and die."""
        if self.program:
            os.write(self._pipe, str(self.program).encode())
        os.kill(os.getpid(), signal.SIGKILL)


def effects_of(scenario: Scenario, store: str) -> tuple[list[str], set[int]]:
    """Return all effects of a scenario that is not killed, and the numbers of those that another program performs."""
    with scenario.scene(store) as scene:
        scenario.prepare(scene)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            _act_in_child(scenario, scene, Recorder(), write)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            report = json.loads(pipe.read() or b"{}")
        os.waitpid(child, 0)
        return report["effects"], set(report["performed"])


def _act_in_child(scenario: Scenario, scene: Scene, watcher: Recorder, pipe: int) -> None:
    """Act in the child, with the watcher at every effect; never return."""
    code = 0
    try:
        with scene.fleet() as fleet:
            fleet.funnel.watcher = watcher
            scenario.act(fleet)
            if not isinstance(watcher, Killer):
                os.write(
                    pipe, json.dumps({"effects": watcher.effects, "performed": sorted(watcher.performed)}).encode()
                )
    except BaseException as error:  # noqa: BLE001 - the parent is told
        os.write(2, f"{scenario.name}: {error!r}\n".encode())
        code = 3
    os._exit(code)


def cases_of(effects: list[str], performed: set[int]) -> list[tuple[int, str]]:
    """Return the number and the way of every death to try; effects that change nothing are left out."""
    deaths = []
    for number, effect in enumerate(effects):
        if not effect.startswith(QUESTIONS):
            deaths += [(number, way) for way in WAYS if not way.startswith("during") or number in performed]
    return deaths


def part_of(cases: list[tuple[int, str]], every: int, offset: int) -> list[tuple[int, str]]:
    """Return every n-th case, beginning with the one at the offset; at least one if there are any."""
    return cases[offset % max(min(every, len(cases)), 1) :: every]


def run_case(scenario: Scenario, store: str, effects: list[str], number: int, way: str) -> Case:
    """Play a scenario with one death, sweep, and return the faults that were found."""
    with scenario.scene(store) as scene:
        scenario.prepare(scene)
        program = _kill_at_effect(scenario, scene, number, way)
        _end_program(program, way)
        faults = scenario.after_death(scene)
        swept = _sweep_until_quiet(scene)
        faults += [f"the second sweep acted: {each}" for each in _sweep(scene)]
        faults += scenario.check(scene)
        faults += scenario.finish(scene)
        return Case(scenario=scenario.name, effect=effects[number], number=number, way=way, faults=faults, swept=swept)


def _kill_at_effect(scenario: Scenario, scene: Scene, number: int, way: str) -> int:
    """Kill a child at an effect; return the pid of the program that is still running, or 0.

    The number of signals that a kill needs may differ, so a late death may not happen.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _act_in_child(scenario, scene, Killer(number, way, write), write)
    os.close(write)
    _pid, status = os.waitpid(child, 0)
    with os.fdopen(read, "rb", buffering=0) as pipe:
        os.set_blocking(pipe.fileno(), False)
        pid = pipe.read(32) or b""
    if status != 0 and not os.WIFSIGNALED(status):
        msg = f"{scenario.name} failed before effect {number} ({way}): status {status}"
        raise RuntimeError(msg)
    return int(pid) if pid else 0


def _end_program(program: int, way: str) -> None:
    """Let the stopped program run to its end, or kill it as well; wait until it is gone."""
    if not program:
        return
    for number in (signal.SIGKILL,) if way.endswith("dies too") else (signal.SIGCONT,):
        try:
            os.kill(program, number)
        except ProcessLookupError:
            return
    until = time.monotonic() + PATIENCE
    while os.path.exists(f"/proc/{program}") and time.monotonic() < until:
        time.sleep(0.005)


def _sweep(scene: Scene) -> list[str]:
    """Sweep the home; return what the sweep did."""
    with scene.fleet("sweeper") as fleet:
        return [f"{each.what}: {each.action}" for each in fleet.sweep.run(kill=True) if each.done]


def _sweep_until_quiet(scene: Scene) -> list[str]:
    """Sweep until a sweep does nothing, five times at most; return what was done.

    One sweep is enough, except for processes that are still dying.
    """
    swept: list[str] = []
    for _ in range(5):
        actions = _sweep(scene)
        swept += actions
        if not actions:
            break
    return swept


def _option(option: str, default: int) -> int:
    """Return the number behind an option of the command line."""
    return int(sys.argv[sys.argv.index(option) + 1]) if option in sys.argv else default


def main() -> int:
    """Run all cases of a scenario, or every n-th. Returns 1 when a case has faults, 2 for a wrong command line."""
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if not words or words[0] not in SCENARIOS:
        sys.stdout.write(f"{__doc__}\nscenarios: {', '.join(SCENARIOS)}\n")
        return 2
    name, store = words[0], words[1] if len(words) > 1 else "sqlite"
    every, offset = _option("--every", 1), _option("--offset", 0)
    store = store if not store.isdigit() else "sqlite"
    scenario = SCENARIOS[name]
    effects, performed = effects_of(scenario, store)
    bad = 0
    for number, way in part_of(cases_of(effects, performed), every, offset):
        case = run_case(scenario, store, effects, number, way)
        bad += bool(case.faults)
        sys.stdout.write(json.dumps(asdict(case)) + "\n")
        sys.stdout.flush()
    return 1 if bad else 0
