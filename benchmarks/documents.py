"""Compare fleet with a file of JSON lines that is read and written as a whole for every change."""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import sqlite3
from contextlib import closing, contextmanager
from itertools import cycle
from typing import TYPE_CHECKING, Any

from benchmarks.scene import graph, make_home, slug
from benchmarks.table import Table, at_least, at_most, ms
from benchmarks.timing import taking_turns, timed
from benchmarks.writers import Ours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from benchmarks.timing import Act, Sample

    Document = dict[str, Any]
    Log = Callable[[str, str], None]

ROUNDS = {100: 200, 1_000: 60, 10_000: 15}
PROCESSES, UPDATES = 8, 40
SMALLEST = {"ROUNDS": {100: 2}, "PROCESSES": 2, "UPDATES": 2}
MESSAGE = "parser done, 40 tests green"
FORK = multiprocessing.get_context("fork")


class Documents:
    """Tasks in a file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def log(self, task: str, message: str) -> None:
        """Read the file, add a message to a task, and write the file, without a lock."""
        documents = self.load()
        next(each for each in documents if each["slug"] == task).setdefault("log", []).append(message)
        self._save(documents)

    def locked_log(self, task: str, message: str) -> None:
        """Read the file, add a message to a task, and write the file, under a lock."""
        with self._locked():
            self.log(task, message)

    def load(self) -> list[Document]:
        """Return all tasks."""
        return [json.loads(line) for line in self._path.read_bytes().splitlines()]

    def _save(self, documents: list[Document]) -> None:
        """Write the file atomically and durably."""
        building = self._path.with_suffix(f".{os.getpid()}")
        with building.open("w") as file:
            file.writelines(json.dumps(each) + "\n" for each in documents)
            file.flush()
            os.fsync(file.fileno())
        building.rename(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def run(directory: Path) -> Iterator[Table]:
    """Yield a table of how long one change takes, and one of how many changes are lost."""
    yield _times(directory)
    yield _losses(directory)


def _make(directory: Path, size: int) -> tuple[Documents, Path]:
    """Make a file of documents and a home with the same `size` tasks, in one folder; return both."""
    home = make_home(directory, graph(size))
    path = directory / "tasks.jsonl"
    path.write_bytes(b"\n".join(graph(size)) + b"\n")
    return Documents(path), home


def _times(directory: Path) -> Table:
    """Return a table of the time of one durable log, with documents and with fleet, by number of tasks."""
    table = Table(
        "documents: one durable log, median ms",
        ("tasks", "documents", "fleet", "documents / fleet"),
        [
            "documents: flock, read all, change one, write all to a new file, sync, rename, sync the directory",
            "by turns, each right after one of its own kind that is not counted: loading all documents slows what comes next",
        ],
    )
    for size, rounds in ROUNDS.items():
        documents, home = _make(directory / f"{size}", size)
        with closing(Ours(home)) as ours:
            found = _by_turns(documents.locked_log, ours.log, size, rounds)
        ratio = found["documents"].median / found["fleet"].median
        cells = (ms(found["documents"].median), ms(found["fleet"].median), f"{ratio:,.1f}")
        table.add(f"{size:,}", *cells, judged=ratio, target=at_least(1))
    return table


def _by_turns(theirs: Log, ours: Log, size: int, rounds: int) -> dict[str, Sample]:
    """Return the times of both kinds of log, measured in turns."""
    tasks = cycle([slug(number) for number in range(0, size, max(1, size // 50))])
    acts = {"documents": lambda: theirs(next(tasks), MESSAGE), "fleet": lambda: ours(next(tasks), MESSAGE)}
    return taking_turns({name: _second(act) for name, act in acts.items()}, rounds=rounds)


def _second(work: Callable[[], None]) -> Act:
    """Return an act that works twice and returns the seconds of the second time."""

    def act() -> float:
        work()
        return timed(work)()

    return act


def _losses(directory: Path) -> Table:
    """Return a table of how many logs of several processes are lost: documents without and with a lock, and fleet."""
    table = Table(
        f"documents: {PROCESSES} processes, {UPDATES} logs each, every process on a task of its own",
        ("", "written", "there afterwards", "lost"),
        ["nobody is told: every process saw its own write succeed"],
    )
    documents, home = _make(directory / "unlocked", 100)
    _at_once(lambda: documents.log)
    _count(table, "documents, no lock", _kept(documents))
    documents, _ = _make(directory / "locked", 100)
    _at_once(lambda: documents.locked_log)
    _count(table, "documents, lock over all of it", _kept(documents))
    _at_once(lambda: Ours(home).log)
    with closing(sqlite3.connect(home / "fleet.db")) as db:
        kept: int = db.execute("SELECT COUNT(*) FROM task_log").fetchone()[0]
    _count(table, "fleet", kept, judged=True)
    return table


def _at_once(opened: Callable[[], Log]) -> None:
    """Let several processes log at once, each on its own task; `opened` returns the function by which one logs."""
    line = FORK.Barrier(PROCESSES)
    crowd = [FORK.Process(target=_update, args=(opened, line.wait, number)) for number in range(PROCESSES)]
    for process in crowd:
        process.start()
    for process in crowd:
        process.join()
    assert not any(process.exitcode for process in crowd), "a process failed"


def _update(opened: Callable[[], Log], line: Callable[[], int], number: int) -> None:
    """Be one of the processes: log UPDATES times on the task of this number, when `line` says that all are there."""
    log = opened()
    line()
    for update in range(UPDATES):
        log(slug(number), f"update {update}")


def _kept(documents: Documents) -> int:
    """Return how many messages all tasks have together."""
    return sum(len(each.get("log", [])) for each in documents.load())


def _count(table: Table, name: str, kept: int, *, judged: bool = False) -> None:
    """Add a row with the written, kept and lost messages to the table; with `judged`, a lost one misses the target."""
    written = PROCESSES * UPDATES
    lost = written - kept
    target = at_most(0) if judged else None
    table.add(name, str(written), str(kept), str(lost), judged=lost, target=target)
