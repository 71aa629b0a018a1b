"""The same acts with a hundred tasks and with a hundred thousand: what agents call all day must not get slower."""

from __future__ import annotations

import gc
import sqlite3
from contextlib import ExitStack, closing
from itertools import cycle
from time import perf_counter
from typing import TYPE_CHECKING

import fleet
from benchmarks.processes import FLEET, environment, seconds_of
from benchmarks.scene import PROJECT, graph, make_home
from benchmarks.table import Table, at_most, ms, times
from benchmarks.timing import Sample, taking_turns, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fleet.api.fleet import Fleet

SMALL, TWIN, LARGE = "100", "100 again", "100 000"
SIZES = {SMALL: 100, TWIN: 100, "10 000": 10_000, LARGE: 100_000}
ROUNDS = 1_500
PAGE_ROUNDS = 15
SMALLEST = {"SIZES": {SMALL: 100, TWIN: 100, LARGE: 120}, "ROUNDS": 2, "PAGE_ROUNDS": 2}
TARGET, PAGE_TARGET = at_most(1.2), at_most(2)
SPREAD = 200  # tasks worked on, all over the graph
# Open tasks that wait for nothing and that two wait for: the same work at every size.
ALIKE = """
SELECT slug FROM tasks t WHERE status = 'open' AND open_blockers = 0
AND (SELECT COUNT(*) FROM edges e WHERE e.project = t.project AND e.needs = t.slug) = 2 ORDER BY added_at, rowid
"""


def run(directory: Path) -> Iterator[Table]:
    """Fill a home of each size, then measure the same acts in each, in turns; yield the tables."""
    filled = {name: _fill(directory / name, size) for name, size in SIZES.items()}
    yield _imports({name: seconds for name, (_, seconds) in filled.items()})
    with ExitStack() as stack:
        lives = {}
        for name, (home, _) in filled.items():
            opened = stack.enter_context(fleet.open(str(home), actor="bench"))
            lives[name] = Life(opened, _alike(home))
        taking_turns({name: life.once for name, life in lives.items()}, rounds=ROUNDS)
        yield _table({name: life.samples() for name, life in lives.items()})
    yield _pages({name: home for name, (home, _) in filled.items()})


class Life:
    """The acts on tasks of one home: claim, log, done and ready, each timed; then the task is opened again."""

    def __init__(self, opened: Fleet, tasks: list[str]) -> None:
        self._fleet = opened
        self._tasks = cycle(tasks)
        self._times: dict[str, list[float]] = {"log": [], "claim": [], "done": [], "ready": []}

    def once(self) -> float:
        """Perform the acts on the next task; return the seconds of all of them."""
        task = next(self._tasks)
        self._take("claim", lambda: self._fleet.tasks.claim(project=PROJECT, slug=task))
        self._take(
            "log", lambda: self._fleet.tasks.log(project=PROJECT, slug=task, message="parser done, 40 tests green")
        )
        self._take("done", lambda: self._fleet.tasks.done(project=PROJECT, slug=task))
        self._take("ready", lambda: self._fleet.tasks.ready(project=PROJECT, limit=10))
        self._fleet.tasks.retry(project=PROJECT, slug=task)
        return sum(each[-1] for each in self._times.values())

    def samples(self) -> dict[str, Sample]:
        """Return the measured times by act."""
        return {verb: Sample(found) for verb, found in self._times.items()}

    def _take(self, verb: str, work: Callable[[], object]) -> None:
        """Perform one act and keep its seconds."""
        self._times[verb].append(timed(work)())


def _fill(directory: Path, size: int) -> tuple[Path, float]:
    """Create a home of this many tasks; return it and the seconds that took."""
    lines = list(graph(size))
    started = perf_counter()
    home = make_home(directory, lines)
    elapsed = perf_counter() - started
    gc.collect()
    return home, elapsed


def _alike(home: Path) -> list[str]:
    """Return slugs of tasks, spread over the graph, that are ready and that exactly two tasks wait for."""
    with closing(sqlite3.connect(home / "fleet.db")) as db:
        found = [row[0] for row in db.execute(ALIKE)]
    return found[:: max(1, len(found) // SPREAD)]


def _imports(seconds: dict[str, float]) -> Table:
    """Return a table of the time to import a graph, by size."""
    table = Table(
        "scale: import of a graph, all or nothing", ("tasks", "seconds", "ms a task"), ["home made, once each"]
    )
    for name, elapsed in seconds.items():
        if name != TWIN:
            table.add(name, f"{elapsed:.2f}", ms(elapsed / SIZES[name]))
    return table


def _pages(homes: dict[str, Path]) -> Table:
    """Return a table of the commands that people read, as whole processes, by size."""
    envs = {name: environment(FLEET_HOME=str(home)) for name, home in homes.items()}
    table = Table(
        "scale: the same page among more tasks, whole processes, median ms",
        ("fleet …", *SIZES, f"{LARGE} / {SMALL}"),
        [f"{PAGE_ROUNDS} rounds by turns"],
    )
    for words in (("status",), ("task", "ready", "-n", "10", "-p", PROJECT), ("ps",)):
        acts = {name: lambda env=env, words=words: seconds_of([FLEET, *words], env) for name, env in envs.items()}
        found = taking_turns(acts, rounds=PAGE_ROUNDS)
        ratio = found[LARGE].median / found[SMALL].median
        cells = [ms(found[name].median) for name in SIZES]
        table.add(" ".join(words), *cells, times(ratio), judged=ratio, target=PAGE_TARGET)
    return table


def _table(found: dict[str, dict[str, Sample]]) -> Table:
    """Return a table of the acts, by size, with the noise between two equal homes."""
    table = Table(
        "scale: the same act among more tasks, median ms",
        ("act", *SIZES, "noise", f"{LARGE} / {SMALL}", "of the means"),
        [
            f"{ROUNDS} rounds by turns; noise is how much {TWIN!r} differs from {SMALL!r}, two homes that are alike",
            "the means hold the rare slow ones too, checkpoints among them",
        ],
    )
    for verb, small in found[SMALL].items():
        twin, large = found[TWIN][verb], found[LARGE][verb]
        ratio = large.median / small.median
        medians = [ms(found[name][verb].median) for name in SIZES]
        noise = f"{twin.median / small.median - 1:+.1%}"
        mean = times(large.mean / small.mean)
        table.add(verb, *medians, noise, times(ratio), mean, judged=ratio, target=TARGET)
    return table
