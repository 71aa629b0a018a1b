"""The crash harness: a child is killed before, during and after each of its effects in turn, then the home is swept.

    python -m fleet.testing.crash SCENARIO [STORE] [--every N] [--offset N]

Forked from a single-threaded parent, so that a case costs a fork and not an interpreter. Prints one JSON object a case.
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
from fleet.testing.crash.scenarios import SCENARIOS as SINGLE
from fleet.testing.crash.seat_scenarios import SEAT_SCENARIOS

if TYPE_CHECKING:
    from fleet.testing.crash.scenarios import Scenario
    from fleet.testing.scene import Scene

# Killed around a question, the world is as it was after the last effect: those cases are the same.
QUESTIONS = (
    "tmux list", "tmux capture-pane", "git rev-parse", "git for-each-ref", "git worktree list", "git status", "git rev-list", "git merge-base",
    "git symbolic-ref", "git ls-files", "git log", "git diff", "git --version", "tmux -V",
)  # fmt: skip
SCENARIOS = SINGLE | JOB_SCENARIOS | SEAT_SCENARIOS
WAYS = ("before", "after", "during, the program lives on", "during, the program dies too")
PATIENCE = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One death, and what came after it."""

    scenario: str
    effect: str
    number: int
    way: str
    faults: list[str] = field(default_factory=list)
    swept: list[str] = field(default_factory=list)


class Recorder:
    """Writes down every effect, and which of them another program performs."""

    def __init__(self) -> None:
        self.effects: list[str] = []
        self.performed: set[int] = set()
        # Those under way, by number, the innermost last; and the program that is at work.
        self.under_way: list[int] = []
        self.program = 0

    def before(self, effect: str) -> None:
        """Count it."""
        self.under_way.append(len(self.effects))
        self.effects.append(effect)

    def during(self, _effect: str, pid: int) -> None:
        """Another program is at it."""
        self.performed.add(self.under_way[-1])
        self.program = pid

    def after(self, _effect: str) -> None:
        """It is over."""
        if self.under_way.pop() in self.performed:
            self.program = 0


class Killer(Recorder):
    """Dies at the n-th effect, in one of the ways."""

    def __init__(self, number: int, way: str, tell: int) -> None:
        super().__init__()
        self._number = number
        self._way = way
        self._tell = tell

    def before(self, effect: str) -> None:
        """Die before it."""
        super().before(effect)
        if self._way == "before" and self.under_way[-1] == self._number:
            self._die()

    def during(self, effect: str, pid: int) -> None:
        """Stop the program that performs it, say which, and die."""
        super().during(effect, pid)
        if self._way.startswith("during") and self.under_way[-1] == self._number:
            os.kill(pid, signal.SIGSTOP)
            self._die()

    def after(self, effect: str) -> None:
        """Die after it."""
        number = self.under_way[-1]
        super().after(effect)
        if self._way == "after" and number == self._number:
            self._die()

    def _die(self) -> None:
        """Say which program is still at work, and die."""
        if self.program:
            os.write(self._tell, str(self.program).encode())
        os.kill(os.getpid(), signal.SIGKILL)


def effects_of(scenario: Scenario, store: str) -> tuple[list[str], set[int]]:
    """Every effect of a scenario that lives through."""
    with scenario.scene(store) as scene:
        scenario.prepare(scene)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            _play(scenario, scene, Recorder(), write)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            report = json.loads(pipe.read() or b"{}")
        os.waitpid(child, 0)
        return report["effects"], set(report["performed"])


def _play(scenario: Scenario, scene: Scene, watcher: Recorder, tell: int) -> None:
    """In the child: act under the watcher's eyes, and never return."""
    code = 0
    try:
        with scene.fleet() as fleet:
            fleet.funnel.watcher = watcher
            scenario.act(fleet)
            if not isinstance(watcher, Killer):
                os.write(
                    tell, json.dumps({"effects": watcher.effects, "performed": sorted(watcher.performed)}).encode()
                )
    except BaseException as error:  # noqa: BLE001 - the parent is told
        os.write(2, f"{scenario.name}: {error!r}\n".encode())
        code = 3
    os._exit(code)


def cases_of(effects: list[str], performed: set[int]) -> list[tuple[int, str]]:
    """Which deaths there are."""
    deaths = []
    for number, effect in enumerate(effects):
        if not effect.startswith(QUESTIONS):
            deaths += [(number, way) for way in WAYS if not way.startswith("during") or number in performed]
    return deaths


def part_of(cases: list[tuple[int, str]], every: int, offset: int) -> list[tuple[int, str]]:
    """Every n-th of the cases, beginning with the one at the offset; at least one where there are any."""
    return cases[offset % max(min(every, len(cases)), 1) :: every]


def run_case(scenario: Scenario, store: str, effects: list[str], number: int, way: str) -> Case:
    """One death, swept."""
    with scenario.scene(store) as scene:
        scenario.prepare(scene)
        program = _die(scenario, scene, number, way)
        _carry_on(program, way)
        faults = scenario.after_death(scene)
        swept = _sweep_until_quiet(scene)
        faults += [f"the second sweep acted: {each}" for each in _sweep(scene)]
        faults += scenario.check(scene)
        faults += scenario.finish(scene)
        return Case(scenario=scenario.name, effect=effects[number], number=number, way=way, faults=faults, swept=swept)


def _die(scenario: Scenario, scene: Scene, number: int, way: str) -> int:
    """The pid of the program that is still at work, or 0. How many signals a kill needs differs, so a late death may not come."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _play(scenario, scene, Killer(number, way, write), write)
    os.close(write)
    _pid, status = os.waitpid(child, 0)
    with os.fdopen(read, "rb", buffering=0) as pipe:
        os.set_blocking(pipe.fileno(), False)
        pid = pipe.read(32) or b""
    if status != 0 and not os.WIFSIGNALED(status):
        msg = f"{scenario.name} failed before effect {number} ({way}): status {status}"
        raise RuntimeError(msg)
    return int(pid) if pid else 0


def _carry_on(program: int, way: str) -> None:
    """The program that was at work goes on to its end, or dies with its caller."""
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
    with scene.fleet("sweeper") as fleet:
        return [f"{each.what}: {each.action}" for each in fleet.sweep.run(kill=True) if each.done]


def _sweep_until_quiet(scene: Scene) -> list[str]:
    """One sweep is enough but for what is still dying; so look until nothing is done any more, a few times at most."""
    swept: list[str] = []
    for _ in range(5):
        done = _sweep(scene)
        swept += done
        if not done:
            break
    return swept


def _number(option: str, default: int) -> int:
    return int(sys.argv[sys.argv.index(option) + 1]) if option in sys.argv else default


def main() -> int:
    """Run a scenario, all of its deaths or every n-th."""
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if not words or words[0] not in SCENARIOS:
        sys.stdout.write(f"{__doc__}\nscenarios: {', '.join(SCENARIOS)}\n")
        return 2
    name, store = words[0], words[1] if len(words) > 1 else "sqlite"
    every, offset = _number("--every", 1), _number("--offset", 0)
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
