"""Durable changes a second by one process, compared with the same statements in bare sqlite3."""

from __future__ import annotations

import json
import re
from itertools import cycle
from typing import TYPE_CHECKING

from benchmarks.scene import PROJECT, make_home
from benchmarks.table import Table, at_least, percent, times
from benchmarks.timing import taking_turns, timed
from benchmarks.writers import Bare, Ours
from fleet.store import queries as q

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.timing import Act, Sample

TASKS = 250
ROUNDS = 30
SMALLEST = {"TASKS": 2, "ROUNDS": 2, "BLOCK": 2}
BLOCK = 250  # long enough to have its share of checkpoints; at most TASKS
MESSAGE = "parser done, 40 tests green"
TARGET = at_least(0.7)
REOPEN = "UPDATE tasks SET status = 'open', assignee = NULL, attempts = 0 WHERE project = :project"
LITERALS = re.compile(r"'[^']*'|\bNULL\b|\b\d+\b")


def run(directory: Path) -> Iterator[Table]:
    """Yield the table of `log`, and of a claim with its report."""
    ours = Ours(make_home(directory / "ours", _pairs()))
    bare = Bare(make_home(directory / "bare", _pairs()))
    _compare_statements(ours, bare)
    table = Table(
        "mutations: durable changes a second, one process",
        ("change", "fleet", "± spread", "bare sqlite3", "± spread", "fleet / bare"),
        [
            f"blocks of {BLOCK} by turns, median of {ROUNDS}; the same statements, schema and pragmas (WAL, FULL) in both"
        ],
    )
    _add(table, "log", taking_turns({"ours": _logs(ours), "bare": _logs(bare)}, rounds=ROUNDS))
    _add(table, "claim + done", taking_turns({"ours": _claims(ours), "bare": _claims(bare)}, rounds=ROUNDS), changes=2)
    ours.close()
    bare.close()
    yield table


def _pairs() -> Iterator[bytes]:
    """Yield tasks in pairs, the second waiting for the first, so that `done` makes one ready."""
    for number in range(TASKS):
        yield json.dumps({"slug": f"task-{number}", "title": f"Task {number}"}).encode()
        after = {"slug": f"next-{number}", "title": f"After {number}", "after": [f"task-{number}"]}
        yield json.dumps(after).encode()


def _logs(writer: Ours | Bare) -> Act:
    """Return an act that logs a block of messages and returns its seconds."""
    tasks = cycle([f"task-{number}" for number in range(TASKS)])

    def block() -> None:
        for _ in range(BLOCK):
            writer.log(next(tasks), MESSAGE)

    return timed(block)


def _claims(writer: Ours | Bare) -> Act:
    """Return an act that claims and ends a block of tasks and returns its seconds; it opens all tasks again before."""

    def block() -> None:
        for number in range(BLOCK):
            writer.claim(f"task-{number}")
            writer.done(f"task-{number}")

    def act() -> float:
        _reopen(writer)
        return timed(block)()

    return act


def _reopen(writer: Ours | Bare) -> None:
    """Open all tasks again, and count again for how many tasks each waits."""
    writer.db.execute(REOPEN, {"project": PROJECT})
    writer.db.execute(q.COUNT_ALL_BLOCKERS.sqlite, {"project": PROJECT})


def _add(table: Table, name: str, found: dict[str, Sample], changes: int = 1) -> None:
    """Add a row to the table, from the times of blocks; `changes` is how many changes a block makes with each task."""
    ours, bare = found["ours"], found["bare"]
    ratio = bare.median / ours.median
    cells = [(f"{BLOCK * changes / each.median:,.0f}", percent(each.spread)) for each in (ours, bare)]
    table.add(name, *cells[0], *cells[1], times(ratio), judged=ratio, target=TARGET)


def _compare_statements(ours: Ours, bare: Bare) -> None:
    """Raise AssertionError unless both writers send the same statements to SQLite, on which the comparison relies.

    That logs on one task, claims it and ends it.
    """
    said = [_statements_of(writer) for writer in (ours, bare)]
    assert said[0] == said[1], f"fleet says {said[0]}, and the bare writer {said[1]}"


def _statements_of(writer: Ours | Bare) -> list[str]:
    """Return the statements that a writer sends to SQLite for a log, a claim and a `done`, without their values."""
    heard: list[str] = []
    writer.db.set_trace_callback(heard.append)
    writer.log("task-0", MESSAGE)
    writer.claim("task-0")
    writer.done("task-0")
    writer.db.set_trace_callback(None)
    # fleet also asks whether somebody has migrated the database since: part of its cost, and none of a bare writer's.
    return [LITERALS.sub("?", statement) for statement in heard if not statement.startswith("PRAGMA")]
