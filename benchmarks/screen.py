"""The screen with 500 agents and 10 000 tasks: the time of a refresh, from a key to its frame, and from the start to a frame."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import select
import signal
import sqlite3
import struct
import subprocess
import termios
from time import perf_counter, time
from typing import TYPE_CHECKING

from textual import events

import fleet
from benchmarks.processes import FLEET, environment
from benchmarks.scene import PROJECT, graph, make_home
from benchmarks.table import Table, at_most, ms
from benchmarks.timing import Sample, timed
from fleet.model.settings.keys import keys_in_force
from fleet.surfaces.tui.app import FleetApp
from fleet.surfaces.tui.look import palette_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import RenderableType
    from textual.screen import Screen

TASKS, AGENTS = 10_000, 500
REFRESHES, KEYS, STARTS = 15, 200, 7
SMALLEST = {"TASKS": 100, "AGENTS": 10, "REFRESHES": 2, "KEYS": 5, "STARTS": 1}
# Milliseconds: what feels immediate to a person, and what the docs promise of the start.
REFRESH_TARGET, KEY_TARGET, SLOWEST_KEY, START_TARGET = at_most(2000), at_most(50), at_most(400), at_most(1000)
# Every fifth agent asks for a permission: the problems that come first.
ASKING = 5
_DISPATCH = """
INSERT INTO dispatches (id, kind, project, slug, owner, host, tmux_socket, created_at, updated_at, launched_at, exec_state, engine, process, home)
VALUES (:id, 'worker', :project, :slug, :owner, :host, :socket, :at, :at, :at, 'in_flight', 'scripted', :process, :home)
"""
_AGENT = """
INSERT INTO agents (dispatch, engine, session, started_at, heartbeat_at, state, state_at, context)
VALUES (:id, 'scripted', :session, :at, :at, :state, :at, 20)
"""
_QUESTION = """
INSERT INTO questions (id, dispatch, kind, text, command, choices, asked_at)
VALUES (:question, :id, 'permission', 'Bash: make', 'make', '[]', :at)
"""


def run(directory: Path) -> Iterator[Table]:
    """Fill a home, add agents that one process stands for, and yield the tables."""
    home = make_home(directory / "scene", graph(TASKS))
    with subprocess.Popen(["sleep", "100000"]) as living:
        try:
            _put_agents(home, living.pid)
            yield _refreshes(home)
            yield asyncio.run(_keys(home))
            yield _starts(home)
        finally:
            living.kill()


def _put_agents(home: Path, pid: int) -> None:
    """Write agents into the database, one for each of the first open tasks; there is no tmux server.

    All of them have the same living process, the one with this pid.
    """
    now = int(time() * 1000)
    with fleet.open(str(home)) as opened:
        process = opened.world.processes.identify(pid)
        facts = {"host": opened.world.host.id, "socket": opened.world.socket, "home": opened.world.record.id}
    with sqlite3.connect(home / "fleet.db") as db:
        ready = db.execute(
            "SELECT slug FROM tasks WHERE status = 'open' ORDER BY open_blockers, slug LIMIT ?", (AGENTS,)
        )
        for number, (slug,) in enumerate(ready.fetchall()):
            ident = f"{0xBE000000 + number:08x}"
            asks = number % ASKING == 0
            row = facts | {
                "id": ident,
                "project": PROJECT,
                "slug": slug,
                "owner": f"project/{PROJECT}/slug/{slug}",
                "at": now,
            }
            db.execute("UPDATE tasks SET status = 'in_progress', assignee = ? WHERE slug = ?", (ident, slug))
            db.execute("INSERT INTO ids (id, at) VALUES (?, ?)", (ident, now))
            db.execute(_DISPATCH, row | {"process": str(process)})
            db.execute(
                _AGENT, {"id": ident, "session": f"fleet-{ident}", "at": now, "state": "asks" if asks else "working"}
            )
            if asks:
                db.execute(_QUESTION, {"id": ident, "question": f"{0xAE000000 + number:08x}", "at": now})
    db.close()


def _refreshes(home: Path) -> Table:
    """Return a table of the time of a snapshot: what the screen's thread reads for a refresh."""
    with fleet.open(str(home)) as opened:
        snapshot = opened.views.snapshot()
        assert len(snapshot.agents) == AGENTS
        found = Sample([timed(opened.views.snapshot)() for _ in range(REFRESHES)])
    table = Table(f"a refresh of the screen, {AGENTS} agents and {TASKS} tasks", ("what", "median", "slowest"))
    table.notes.append("in a thread of its own: the screen does not wait for it; target in ms")
    table.add("snapshot", ms(found.median), ms(found.slowest), judged=found.median * 1000, target=REFRESH_TARGET)
    return table


async def _keys(home: Path) -> Table:
    """Press keys while snapshots are taken; return a table of the time from each key to its frame."""
    app = FleetApp(str(home), keys=keys_in_force({}), palette=palette_for("dark"))
    table = Table("a key until its frame", ("key", "median", "slowest"))
    table.notes.append("while the threads go on taking snapshots; target of the median and of the slowest in ms")
    async with app.run_test(size=(160, 50)) as pilot:
        while app.board.snapshot is None:
            await pilot.pause(0.01)
        for key in ("j", "space", "tab"):
            found = Sample([await _frame(app, key) for _ in range(KEYS)])
            table.add(key, ms(found.median), ms(found.slowest), judged=found.median * 1000, target=KEY_TARGET)
            table.add(f"{key}, slowest", "", ms(found.slowest), judged=found.slowest * 1000, target=SLOWEST_KEY)
    return table


async def _frame(app: FleetApp, key: str) -> float:
    """Press a key; return the seconds until a frame is drawn after the board has acted on the key."""
    performed, drawn = asyncio.Event(), asyncio.Event()
    perform, display = app.board.perform, app._display  # noqa: SLF001 - Textual has no other place to see a frame

    def act(name: str) -> None:
        perform(name)
        performed.set()

    def show(screen: Screen[object], frame: RenderableType | None) -> None:
        display(screen, frame)
        if performed.is_set() and frame is not None:
            drawn.set()

    vars(app.board)["perform"], vars(app)["_display"] = act, show
    started = perf_counter()
    app.post_message(events.Key(key, key if len(key) == 1 else " "))
    await drawn.wait()
    del vars(app.board)["perform"], vars(app)["_display"]
    return perf_counter() - started


def _starts(home: Path) -> Table:
    """Start `fleet tui` on a terminal; return a table of the time to the first frame, and to the first with rows."""
    times = [_start(home) for _ in range(STARTS)]
    table = Table(f"the start of the screen, {TASKS} tasks", ("until", "median", "slowest"))
    for name, place in (("the first frame", 0), ("the rows are there", 1)):
        found = Sample([each[place] for each in times])
        table.add(name, ms(found.median), ms(found.slowest), judged=found.median * 1000, target=START_TARGET)
    return table


def _start(home: Path) -> tuple[float, float]:
    """Start `fleet tui` once; return the seconds to the first frame, and to the first frame with rows."""
    hands, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    env = environment(FLEET_HOME=str(home), TERM="xterm-256color")
    started = perf_counter()
    child = subprocess.Popen(
        [FLEET, "tui"], stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True
    )
    os.close(theirs)
    seen, first, rows = b"", 0.0, 0.0
    while not rows:
        assert select.select([hands], [], [], 60)[0], seen
        seen += os.read(hands, 65_536)
        first = first or (perf_counter() - started if b"fleet" in seen else 0.0)
        rows = perf_counter() - started if b"needs you" in seen or b"need you" in seen else 0.0
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    os.close(hands)
    return first, rows
