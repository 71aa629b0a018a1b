"""What one call of the command line costs, compared with a bare interpreter."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import fleet
from benchmarks import breakdown
from benchmarks.processes import BARE, FLEET, PYTHON, environment, peak_of, processor_seconds_of, seconds_of
from benchmarks.scene import AGENT, PROJECT, add_project, loose, make_home
from benchmarks.table import Table, at_least, at_most, ms, percent, times
from benchmarks.timing import taking_turns
from fleet.model.settings.setting_names import HOME_FILE
from fleet.testing.crash.scenarios import until
from fleet.testing.scene import PROJECT as OF_SCENE
from fleet.testing.scene import Scene
from fleet.verbs.dispatch.plan import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.table import Target
    from benchmarks.timing import Act, Sample

    Call = tuple[list[str], dict[str, str]]  # words and environment

HOT = {
    "log": ("log", "parser done, 40 tests green"),
    "done": ("done",),
    "fail": ("fail", "--reason", "the API is gone"),
    "block": ("block", "--reason", "needs a decision"),
    "artifact": ("artifact", "docs/api.md"),
}
CLAIM = "claim"
SHOWN = "shown"
READS = {
    "task list": ("task", "list", "-p", SHOWN),
    "task ready": ("task", "ready", "-p", SHOWN),
    "task show": ("task", "show", "seen-1", "-p", SHOWN),
    "status": ("status",),
    "ps": ("ps",),
}
OTHERS = {
    "task add": ("task", "add", "One more", "-p", SHOWN),
    "ops": ("ops",),
}
HELP = {f"{' '.join(words)} --help".strip(): (*words, "--help") for words in ((), ("task",), ("task", "add"))}
HOT_ROUNDS, OTHER_ROUNDS, PEAK_ROUNDS, WARM = 60, 25, 5, 2
SMALLEST = {"HOT_ROUNDS": 2, "OTHER_ROUNDS": 2, "PEAK_ROUNDS": 1, "WARM": 0, "BREAKDOWN_ROUNDS": 1}
BREAKDOWN_ROUNDS = 25
BUSY = 0.1  # the spread of the bare interpreter's times above which the table says that the machine was busy
AT_WORK = 2  # agents
# LAUNCH is a hot command, which imports `_sqlite3` with a stand-in for functools. With WITH_REAL before it, the real
# functools is imported first, and used instead.
WITH_REAL = "import functools"
LAUNCH = f"import sys; sys.argv[1:] = ['log', 'parser done']; exec(open({FLEET!r}).read().replace('del sys.path[0]', 'pass'))"
# The stand-in is worth its lines while the real one costs a tenth of a command.
STAND_IN_TARGET = at_least(1.1)
HOT_TARGET, READ_TARGET, OTHER_TARGET, PEAK_TARGET = at_most(1.8), at_most(4), at_most(5), at_most(20)


def run(directory: Path) -> Iterator[Table]:
    """Yield the tables of time and memory of commands, and of where the time of `log` goes."""
    home = make_home(directory / "scene", _pool())
    add_project(home, SHOWN, loose("seen", 20))
    hot = {name: _hot(home, name) for name in [*HOT, CLAIM]}
    before = _operations(home)
    quick = taking_turns(_acts(hot, seconds_of), rounds=HOT_ROUNDS, warm=WARM)
    assert _operations(home) - before == len(hot) * (HOT_ROUNDS + WARM), "a call that was timed committed nothing"
    yield _times("hot commands, durable", quick, HOT_ROUNDS, HOT_TARGET)
    yield _memory(taking_turns(_acts(hot, peak_of), rounds=PEAK_ROUNDS, warm=0))
    env = environment(FLEET_HOME=str(home))
    reads = {name: _always(words, env) for name, words in READS.items()}
    found = taking_turns(_acts(reads, seconds_of), rounds=OTHER_ROUNDS, warm=WARM)
    yield _times("what people read all day", found, OTHER_ROUNDS, READ_TARGET)
    yield _with_agents()
    rest = {name: _always(words, env) for name, words in (OTHERS | HELP).items()}
    slow = taking_turns(_acts(rest, seconds_of), rounds=OTHER_ROUNDS, warm=WARM)
    yield _times("other commands and help", slow, OTHER_ROUNDS, OTHER_TARGET)
    yield _stand_in(home)
    yield breakdown.of_log(home, rounds=BREAKDOWN_ROUNDS)
    yield breakdown.of_imports(home, "status", READS["status"], bare=slow["bare"].median)


def _with_agents() -> Table:
    """Return a table of what people read where agents are at work, in processor time, without a daemon."""
    with Scene() as scene:
        with scene.fleet() as opened:
            for number in range(AT_WORK):
                opened.tasks.add(project=OF_SCENE, title="T", slug=f"t{number}")
                wanted = Wanted(project=OF_SCENE, slug=f"t{number}", engine="shell", command=("sleep", "1000"))
                opened.dispatches.start(wanted)
            until(lambda: all(agent.process for agent in opened.agents.list()))
        Path(scene.home, HOME_FILE).unlink()  # most homes have none
        env = environment(FLEET_HOME=scene.home, FLEET_DIRECT="1")
        reads = {name: _always(READS[name], env) for name in ("ps", "status")}
        found = taking_turns(_acts(reads, processor_seconds_of), rounds=OTHER_ROUNDS, warm=WARM)
    return _times(f"the same in processor time, {AT_WORK} agents at work", found, OTHER_ROUNDS, READ_TARGET)


def _stand_in(home: Path) -> Table:
    """Return a table of a hot command in processor time, with the stand-in for functools and with functools."""
    env = environment(FLEET_HOME=str(home), FLEET_PROJECT=PROJECT, FLEET_TASK="log-0", FLEET_DISPATCH_ID=AGENT)
    codes = {"stand-in": LAUNCH, "functools": f"{WITH_REAL}; {LAUNCH}"}
    acts = {name: lambda code=code: processor_seconds_of([PYTHON, "-c", code], env) for name, code in codes.items()}
    found = taking_turns(acts, rounds=HOT_ROUNDS, warm=WARM)
    table = Table("start: `log` with functools and with its stand-in", ("with", "processor ms", "× stand-in"))
    for name, sample in found.items():
        ratio = sample.median / found["stand-in"].median
        target = STAND_IN_TARGET if name == "functools" else None
        table.add(name, ms(sample.median), times(ratio), judged=ratio, target=target)
    return table


def _pool() -> Iterator[bytes]:
    """Yield a task for every call, because a report ends one and a claim takes one."""
    size = HOT_ROUNDS + WARM + PEAK_ROUNDS
    for name in HOT:
        yield from loose(name, size, status="in_progress", assignee=AGENT)
    yield from loose(CLAIM, size)


def _hot(home: Path, name: str) -> Iterator[Call]:
    """Yield the calls of a hot command as an agent makes them, each on another task."""
    for number in count():
        task = f"{name}-{number}"
        if name == CLAIM:
            yield [FLEET, "task", "claim", task, "-p", PROJECT], environment(FLEET_HOME=str(home))
        else:
            whose = {"FLEET_PROJECT": PROJECT, "FLEET_TASK": task, "FLEET_DISPATCH_ID": AGENT}
            yield [FLEET, *HOT[name]], environment(FLEET_HOME=str(home), **whose)


def _always(words: tuple[str, ...], env: dict[str, str]) -> Iterator[Call]:
    """Yield the same call again and again."""
    while True:
        yield [FLEET, *words], env


def _acts(calls: dict[str, Iterator[Call]], measure: Callable[[list[str], dict[str, str]], float]) -> dict[str, Act]:
    """Return an act for each command that measures its next call, and one for a bare interpreter."""
    acts: dict[str, Act] = {"bare": lambda: measure(BARE, environment())}
    return acts | {name: lambda calls=each: measure(*next(calls)) for name, each in calls.items()}


def _operations(home: Path) -> int:
    with fleet.open(str(home)) as opened:
        return opened.operations.newest()


def _times(title: str, found: dict[str, Sample], rounds: int, target: Target) -> Table:
    """Return a table of the median times of commands, and their ratio to a bare interpreter."""
    bare = found["bare"]
    table = Table(
        f"start: {title}",
        ("fleet …", "median ms", "± spread", "× bare"),
        [f"whole processes, {rounds} rounds by turns; bare `python -c pass` takes {ms(bare.median)} ms"],
    )
    if bare.spread > BUSY:
        table.notes.append(
            f"the machine was busy (bare ± {percent(bare.spread)}): run it again before believing a MISS"
        )
    for name, sample in found.items():
        ratio = sample.median / bare.median
        if name != "bare":
            table.add(name, ms(sample.median), percent(sample.spread), times(ratio), judged=ratio, target=target)
    return table


def _memory(found: dict[str, Sample]) -> Table:
    """Return a table of the peak memory of commands."""
    table = Table("start: peak memory of a hot call", ("fleet …", "MB"), ["median of ru_maxrss from wait4"])
    for name, sample in found.items():
        peak = median(sample.times)
        if name == "bare":
            table.add("(bare python)", f"{peak:.1f}")
        else:
            table.add(name, f"{peak:.1f}", judged=peak, target=PEAK_TARGET)
    return table
