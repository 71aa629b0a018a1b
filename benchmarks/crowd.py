"""Fifty processes that write at once, compared with fifty that run the same statements in bare sqlite3 and queue on a flock."""

from __future__ import annotations

import multiprocessing
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.scene import graph, make_home, slug
from benchmarks.table import Table, at_least, at_most, ms, percent, times
from benchmarks.timing import Sample
from benchmarks.writers import Ours, Queued

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.queues import SimpleQueue
    from multiprocessing.synchronize import Barrier
    from pathlib import Path

    Writer = Callable[[Path], Ours | Queued]
    Result = tuple[list[float], str]  # when it began and when each write was there; what went wrong

OURS, BARE = "fleet", "bare sqlite3 on a flock"
PROCESSES = 50
WRITES = 50  # by each
ROUNDS = 7
SMALLEST = {"PROCESSES": 2, "WRITES": 2, "ROUNDS": 2}
PATIENCE = 60  # seconds until all processes have reached the barrier
TARGET = at_least(0.6)
FORK = multiprocessing.get_context("fork")


@dataclass(slots=True)
class Outcome:
    """The results of all rounds of one kind of writer."""

    rates: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    kept: int = 0

    @property
    def lost(self) -> int:
        """Return how many writes are missing afterwards."""
        return ROUNDS * PROCESSES * WRITES - self.kept


def run(directory: Path) -> Iterator[Table]:
    """Let both kinds of writers write in turns; yield the table with the medians of the rounds."""
    writers: dict[str, Writer] = {OURS: Ours, BARE: Queued}
    homes = {name: make_home(directory / f"{number}", graph(100)) for number, name in enumerate(writers)}
    outcomes = {name: Outcome() for name in writers}
    for _ in range(ROUNDS):
        for name, writer in writers.items():
            rate, latencies, errors = _crowd(homes[name], writer)
            outcomes[name].rates.append(rate)
            outcomes[name].latencies += latencies
            outcomes[name].errors += errors
    for name, outcome in outcomes.items():
        outcome.kept = _messages(homes[name])
    yield _table(outcomes)


def _crowd(home: Path, writer: Writer) -> tuple[float, list[float], list[str]]:
    """Let all processes write at once; return the writes a second, the seconds of each write, and the errors."""
    line, results = FORK.Barrier(PROCESSES), FORK.SimpleQueue()
    crowd = [FORK.Process(target=_write, args=(home, writer, n, line, results)) for n in range(PROCESSES)]
    for process in crowd:
        process.start()
    found: list[Result] = [results.get() for _ in crowd]
    for process in crowd:
        process.join()
    return *_rate([marks for marks, _ in found]), [wrong for _, wrong in found if wrong]


def _rate(runs: list[list[float]]) -> tuple[float, list[float]]:
    """Return the writes a second, and the seconds of each write; 0 when nothing was written."""
    latencies = [end - start for marks in runs for start, end in pairwise(marks)]
    if not latencies:
        return 0.0, []
    written = [marks for marks in runs if marks]
    return len(latencies) / (max(marks[-1] for marks in written) - min(marks[0] for marks in written)), latencies


def _write(home: Path, writer: Writer, number: int, line: Barrier, results: SimpleQueue[Result]) -> None:
    """Be one of the writing processes; put its times and its error into the queue, because the parent waits for a result of each."""
    marks: list[float] = []
    wrong = ""
    try:
        with closing(writer(home)) as opened:
            line.wait(timeout=PATIENCE)
            marks.append(perf_counter())
            for _ in range(WRITES):
                opened.log(slug(number), "parser done, 40 tests green")
                marks.append(perf_counter())
    except Exception as error:  # noqa: BLE001 - it is counted, whatever it is
        wrong = repr(error)
    results.put((marks, wrong))


def _messages(home: Path) -> int:
    with closing(sqlite3.connect(home / "fleet.db")) as db:
        found: int = db.execute("SELECT COUNT(*) FROM task_log").fetchone()[0]
    return found


def _cells(outcome: Outcome) -> tuple[str, ...]:
    """Return the cells with the rate and the times of a writer; dashes when nothing was written."""
    rate, wait = Sample(outcome.rates), Sample(outcome.latencies)
    if not wait.times or not rate.median:
        return ("0", "-", "-", "-", "-")
    cells = (f"{rate.median:,.0f}", percent(rate.spread), ms(wait.median), ms(wait.slowest))
    return (*cells, f"{wait.slowest / wait.median:.1f}")


def _table(outcomes: dict[str, Outcome]) -> Table:
    """Return the table of both writers: rates, times, errors and lost writes."""
    table = Table(
        f"crowd: {PROCESSES} processes at once, {WRITES} durable logs each",
        ("", "writes/s", "± spread", "median ms", "slowest ms", "slowest / median", "errors", "lost"),
        [f"by turns, median of {ROUNDS} rounds; latencies of all rounds together"],
    )
    for name, outcome in outcomes.items():
        table.add(name, *_cells(outcome), str(len(outcome.errors)), str(outcome.lost))
        table.notes += sorted({f"{name}: {error}" for error in outcome.errors})
    if bare := median(outcomes[BARE].rates):
        ratio = median(outcomes[OURS].rates) / bare
        table.add("fleet / bare", times(ratio), *[""] * 6, judged=ratio, target=TARGET)
    else:
        table.add("fleet / bare", "-", *[""] * 6, judged=0, target=TARGET)
        table.notes.append("the bare writer has written nothing: there is nothing to compare with")
    failed = len(outcomes[OURS].errors) + outcomes[OURS].lost
    table.add("fleet's errors and lost writes", str(failed), *[""] * 6, judged=failed, target=at_most(0))
    return table
