"""Compare fleet with Workgraph (wg) and Beads (bd), if they are on the PATH: whole processes, the same acts."""

from __future__ import annotations

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.processes import FLEET, environment
from benchmarks.scene import PROJECT, loose, make_home
from benchmarks.table import Table, ms
from benchmarks.timing import taking_turns, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from benchmarks.timing import Sample

TASKS = 100
ROUNDS = 15
WRITERS, LINES = 20, 5  # lines by each writer
SMALLEST = {"TASKS": 2, "ROUNDS": 2, "WRITERS": 2, "LINES": 2}
MESSAGE = "parser done, 40 tests green"
PATIENCE = 120  # seconds for one command


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """Another program: how to install it (`source`), how to begin (`prepare`), and its command for each act.

    In the commands {task} is a number and {text} a message.
    """

    name: str
    source: str
    prepare: tuple[tuple[str, ...], ...]
    add: tuple[str, ...]
    log: tuple[str, ...]
    read: tuple[str, ...]
    ready: tuple[str, ...] = ("ready",)


OTHERS = (
    Other(
        name="wg",
        source="cargo install --git https://github.com/graphwork/workgraph",
        prepare=(("init",),),
        add=("add", "Task {task}", "--id", "bench-{task}"),
        log=("log", "bench-{task}", "{text}"),
        read=("log", "bench-{task}", "--list"),
    ),
    Other(
        name="bd",
        source="https://github.com/steveyegge/beads, or npm install -g @beads/bd",
        prepare=(("init", "--prefix", "bench"),),
        add=("create", "Task {task}", "--id", "bench-{task}"),
        log=("comments", "add", "bench-{task}", "{text}"),
        read=("comments", "bench-{task}"),
    ),
)


class Failed(Exception):
    """A command of a program failed."""


class Program:
    """Another program, in its own repository with tasks."""

    def __init__(self, other: Other, path: str, directory: Path) -> None:
        self._other, self._path, self._directory = other, path, directory
        self._env = environment(HOME=str(directory), BD_ACTOR="bench")

    def fill(self) -> None:
        """Create the repository and its tasks."""
        self._directory.mkdir(parents=True)
        subprocess.run(["git", "init", "--quiet", self._directory], check=True)
        for words in self._other.prepare:
            self._run(words)
        for number in range(TASKS):
            self._run(self._other.add, number)

    def log(self, number: int, text: str = MESSAGE) -> None:
        """Log one durable line on a task."""
        self._run(self._other.log, number, text)

    def ready(self) -> None:
        """List the tasks that could be started."""
        self._run(self._other.ready)

    def lines(self, number: int, text: str) -> int:
        """Return how often this text is in what the program shows of a task's log."""
        return self._run(self._other.read, number).count(text)

    def _run(self, words: tuple[str, ...], number: int = 0, text: str = "") -> str:
        filled = [word.format(task=number, text=text) for word in words]
        return output_of([self._path, *filled], self._env, self._directory)


class Ours:
    """fleet, with the same acts."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._env = environment(FLEET_HOME=str(directory / "home"))

    def fill(self) -> None:
        """Create the home and its tasks."""
        make_home(self._directory, loose("bench", TASKS))

    def log(self, number: int, text: str = MESSAGE) -> None:
        """Log one durable line on a task."""
        self._run("task", "log", f"bench-{number}", text)

    def ready(self) -> None:
        """List the tasks that could be started."""
        self._run("task", "ready")

    def lines(self, number: int, text: str) -> int:
        """Return how often this text is in what fleet shows of a task."""
        return self._run("task", "show", f"bench-{number}", "--json").count(text)

    def _run(self, *words: str) -> str:
        return output_of([FLEET, *words, "-p", PROJECT], self._env, self._directory)


def run(directory: Path) -> Iterator[Table]:
    """Yield one table with a column for each program."""
    table = Table(
        f"others: the same acts among {TASKS} tasks, whole processes",
        ("act", "fleet", *(other.name for other in OTHERS)),
        [
            f"one act after another, {ROUNDS} rounds by turns, median ms; then {WRITERS} writers at once, {LINES} lines each"
        ],
    )
    programs: dict[str, Ours | Program] = {"fleet": Ours(directory / "fleet")}
    for other in OTHERS:
        path = shutil.which(other.name)
        if path is None:
            table.notes.append(f"{other.name} is not on the PATH: {other.source}")
        else:
            programs[other.name] = Program(other, path, directory / other.name)
    columns = _columns(table, programs)
    for place, act in enumerate(("one durable log line, ms", "ready, ms", "many writers, seconds", "lines lost")):
        cells = [columns[name][place] if name in columns else "-" for name in table.columns[1:]]
        table.add(act, *cells)
    yield table


def _columns(table: Table, programs: dict[str, Ours | Program]) -> dict[str, list[str]]:
    """Fill and measure each program; return the cells of its column, by its name.

    A program that cannot be filled or asked for ready tasks is named in a note and left out.
    """
    for name, program in list(programs.items()):
        if not _tried(table, name, program.fill) or not _tried(table, name, program.ready):
            del programs[name]
    logs = _by_turns(programs, lambda program: program.log(0))
    readies = _by_turns(programs, lambda program: program.ready())
    columns: dict[str, list[str]] = {}
    for name, program in programs.items():
        seconds, lost = _at_once(program)
        columns[name] = [ms(logs[name].median), ms(readies[name].median), f"{seconds:.2f}", str(lost)]
    return columns


def _tried(table: Table, name: str, act: Callable[[], None]) -> bool:
    """Call an act of a program; return whether it succeeded, and add a note to the table when it did not."""
    try:
        act()
    except Failed as error:
        table.notes.append(f"{name} failed: {error}")
        return False
    return True


def _by_turns(programs: dict[str, Ours | Program], act: Callable[[Ours | Program], None]) -> dict[str, Sample]:
    """Return the times of an act of each program, measured in turns."""
    return taking_turns({name: timed(partial(act, each)) for name, each in programs.items()}, rounds=ROUNDS)


def _at_once(program: Ours | Program) -> tuple[float, int]:
    """Let many threads log at once, each on its own task; return the seconds, and how many lines are missing."""

    def write(number: int) -> None:
        for line in range(LINES):
            try:
                program.log(number % TASKS, f"line-{number}-{line}.")
            except Failed:
                continue  # it is counted: the line is not there

    with ThreadPoolExecutor(WRITERS) as pool:
        seconds = timed(lambda: list(pool.map(write, range(WRITERS))))()
    kept = sum(program.lines(number % TASKS, f"line-{number}-") for number in range(WRITERS))
    return seconds, WRITERS * LINES - kept


def output_of(words: list[str], env: dict[str, str], directory: Path) -> str:
    """Return the output of a command; raise Failed when it fails, cannot be started, or takes over two minutes."""
    try:
        done = subprocess.run(
            words, env=env, cwd=directory, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{' '.join(words[:3])}: {error}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Failed(f"{' '.join(words[:3])} gave {done.returncode}: {said[-1] if said else 'nothing said'}")
    return done.stdout
