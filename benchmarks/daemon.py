"""What the daemon costs and gains: commands through it, many clients at once, and a daemon that is idle."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import selectors
import signal
import socket
import subprocess
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import TYPE_CHECKING

from benchmarks.processes import BARE, FLEET, environment, seconds_of
from benchmarks.scene import AGENT, PROJECT, add_project, graph, loose, make_home, slug
from benchmarks.table import Table, at_least, at_most, ms, percent, times
from benchmarks.timing import taking_turns
from benchmarks.writers import Bare, Ours
from fleet.api.remote.door import Door, DoorClosed
from fleet.api.remote.lifecycle import ONE_ARENA
from fleet.testing.crash.scenarios import until
from fleet.testing.postgres import ThrowawayPostgres, url_in, wait_until_ready
from fleet.testing.scene import PROJECT as OF_SCENE
from fleet.testing.scene import Scene
from fleet.verbs.dispatch.plan import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.synchronize import Barrier

    from benchmarks.timing import Act

SHOWN = "shown"
ROUNDS, WARM = 40, 2
CLIENTS = (1, 5, 20, 50)
WRITES = 2_000  # by all clients of a round together
CROWD_ROUNDS = 3
IDLE = 20.0
# Seconds for the daemon to see the last agents start.
SETTLED = 5.0
AGENTS = 100
SMALLEST = {"ROUNDS": 2, "WARM": 0, "CLIENTS": (1, 2), "WRITES": 8, "CROWD_ROUNDS": 2, "IDLE": 0.2, "AGENTS": 2}
LOG_TARGET, READ_TARGET, GROUP_TARGET = at_most(1.3), at_most(2), at_least(0.8)
MEMORY_TARGETS = {"SQLite": at_most(40), "PostgreSQL": at_most(55)}
FORK = multiprocessing.get_context("fork")
MESSAGE = "parser done, 40 tests green"


def run(directory: Path) -> Iterator[Table]:
    """Yield the tables of the daemon on SQLite, and where it matters on PostgreSQL."""
    homes = {"SQLite": _home(directory / "sqlite", "")}
    server = ThrowawayPostgres().start()
    wait_until_ready(server.directory)
    try:
        homes["PostgreSQL"] = _home(directory / "postgres", url_in(server.directory, "postgres"))
        for store, home in homes.items():
            with served(home) as pid:
                yield _commands(store, home)
                yield _idle(store, pid)
    finally:
        server.stop()
    yield _idle_with_agents()
    yield _crowds(directory)


def _home(directory: Path, store: str) -> Path:
    """Return a home with tasks to log on and tasks to look at."""
    if store:
        (directory / "home").mkdir(parents=True, mode=0o700)
        (directory / "home" / "config.toml").write_text(f'store = "{store}"\n', encoding="utf-8")
    home = make_home(directory, loose("log", 4, status="in_progress", assignee=AGENT))
    add_project(home, SHOWN, loose("seen", 20))
    return home


@contextmanager
def served(home: Path) -> Iterator[int]:
    """Run a daemon for a home while the block runs, with the environment of `fleet daemon start`; yield its pid."""
    env = environment(FLEET_HOME=str(home), **ONE_ARENA)
    child = subprocess.Popen([FLEET, "daemon", "run", "--detached"], env=env)
    try:
        _wait_for(home / "daemon.sock")
        yield child.pid
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait()


def _wait_for(path: Path) -> None:
    """Wait until something accepts connections on a socket."""
    while True:
        door = Door(str(path))
        try:
            door.open()
        except DoorClosed:
            sleep(0.01)
        else:
            door.close()
            return


# commands ---------------------------------------------------------------------------------------------------------------
def _commands(store: str, home: Path) -> Table:
    """Return a table of whole commands through the daemon, compared with a bare interpreter."""
    env = environment(FLEET_HOME=str(home))
    calls = {
        "log": [FLEET, "task", "log", "log-1", MESSAGE, "-p", PROJECT],
        "status": [FLEET, "status"],
        "ps": [FLEET, "ps"],
        "task ready": [FLEET, "task", "ready", "-p", SHOWN],
    }
    acts: dict[str, Act] = {"bare": lambda: seconds_of(BARE, environment())}
    acts |= {name: partial(seconds_of, words, env) for name, words in calls.items()}
    acts["log, without the daemon"] = lambda: seconds_of(calls["log"], env | {"FLEET_DIRECT": "1"})
    found = taking_turns(acts, rounds=ROUNDS, warm=WARM)
    bare = found["bare"]
    notes = [
        f"whole processes, {ROUNDS} rounds by turns; bare `python -c pass` takes {ms(bare.median)} ms (± {percent(bare.spread)})"
    ]
    table = Table(f"daemon: commands through it on {store}", ("fleet …", "median ms", "± spread", "× bare"), notes)
    for name, sample in found.items():
        if name != "bare":
            ratio = sample.median / bare.median
            target = None if "without" in name else LOG_TARGET if name == "log" else READ_TARGET
            table.add(name, ms(sample.median), percent(sample.spread), times(ratio), judged=ratio, target=target)
    return table


# doing nothing ----------------------------------------------------------------------------------------------------------
def _idle(store: str, pid: int) -> Table:
    """Return a table with the processor time and memory of an idle daemon."""
    before = _cpu(pid)
    sleep(IDLE)
    used = (_cpu(pid) - before) / IDLE
    table = Table(f"daemon: idle on {store}", ("", "value"), [f"over {IDLE:g} s"])
    table.add("processor", f"{used:.2%}", judged=used * 100, target=at_most(0.5))
    memory = _memory(pid)
    table.add("memory, MB", f"{memory:.1f}", judged=memory, target=MEMORY_TARGETS[store])
    return table


def _idle_with_agents() -> Table:
    """Return a table with the processor time and memory of a daemon while many agents run and nothing happens."""
    with Scene(settings="[limits]\nagents = 1000\nproject_agents = 1000\n") as scene, served(Path(scene.home)) as pid:
        with scene.fleet() as fleet:
            for number in range(AGENTS):
                fleet.tasks.add(project=OF_SCENE, title="T", slug=f"t{number}")
                fleet.dispatches.start(
                    Wanted(project=OF_SCENE, slug=f"t{number}", engine="shell", command=("sleep", "1000"))
                )
            until(lambda: all(agent.process for agent in fleet.agents.list()))
        sleep(min(IDLE, SETTLED))
        before = _cpu(pid)
        sleep(IDLE)
        used = (_cpu(pid) - before) / IDLE
        memory = _memory(pid)
    table = Table(f"daemon: {AGENTS} idle agents on SQLite", ("", "value"), [f"over {IDLE:g} s"])
    table.add("processor", f"{used:.2%}")
    table.add("memory, MB", f"{memory:.1f}")
    return table


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


# many clients -----------------------------------------------------------------------------------------------------------
def _crowds(directory: Path) -> Table:
    """Return a table of durable logs a second: through the daemon, by direct writers, and through a bare group commit."""
    table = Table(
        "daemon: clients at once, durable logs a second",
        ("clients", "daemon", "direct", "bare group commit", "daemon / direct", "daemon / bare group"),
        [
            f"{WRITES} logs a round, median of {CROWD_ROUNDS}; the same protocol, statements, rows and syncs (WAL, FULL) in both groups"
        ],
    )
    homes = [make_home(directory / name, graph(100)) for name in ("daemon", "direct", "bare")]
    with served(homes[0]), _bare_group(homes[2]):
        for clients in CLIENTS:
            ours, direct, bare = _by_turns(homes, clients)
            ratio = ours / bare
            cells = (f"{ours:,.0f}", f"{direct:,.0f}", f"{bare:,.0f}", times(ours / direct), times(ratio))
            table.add(str(clients), *cells, judged=ratio, target=GROUP_TARGET)
    return table


def _by_turns(homes: list[Path], clients: int) -> list[float]:
    """Return the median rates of the daemon, direct writers and a bare group commit, measured in turns."""
    found: list[list[float]] = [[], [], []]
    for _ in range(CROWD_ROUNDS):
        for rates, home, act in zip(found, homes, (_ask, _write_directly, _ask), strict=True):
            rates.append(_rate(home, act, clients))
    return [median(rates) for rates in found]


def _rate(home: Path, act: Callable[[Path, int, int, Barrier], None], clients: int) -> float:
    """Let this many clients write at once; return the logs a second, until the last one was answered."""
    began, ends = FORK.Value("d", 0.0), FORK.SimpleQueue()
    line = FORK.Barrier(clients + 1, action=lambda: setattr(began, "value", perf_counter()))
    each = max(WRITES // clients, 1)

    def write(number: int) -> None:
        """Be one client; put the time of its last answer into the queue."""
        act(home, number, each, line)
        ends.put(perf_counter())

    crowd = [FORK.Process(target=write, args=(number,)) for number in range(clients)]
    for process in crowd:
        process.start()
    line.wait(60)
    for process in crowd:
        process.join()
    assert not any(process.exitcode for process in crowd), "a client failed"
    last: float = max(ends.get() for _ in crowd)
    seconds: float = last - began.value
    return each * clients / seconds


def _ask(home: Path, number: int, writes: int, line: Barrier) -> None:
    """Be one client of a socket: send each request after the answer to the one before."""
    with closing(socket.socket(socket.AF_UNIX)) as sock:
        sock.connect(str(home / "daemon.sock"))
        answers = sock.makefile("rb")
        answers.readline()
        line.wait(60)
        for each in range(writes):
            args = {"project": PROJECT, "slug": slug(number), "message": MESSAGE}
            key = f"{os.getpid()}-{perf_counter()}-{each}"
            request = {"id": each, "method": "tasks.log", "args": args, "key": key, "caller": {"as": "bench"}}
            sock.sendall(json.dumps(request).encode() + b"\n")
            assert b'"result"' in answers.readline()


def _write_directly(home: Path, number: int, writes: int, line: Barrier) -> None:
    """Be one client that writes to the store itself."""
    with closing(Ours(home)) as opened:
        line.wait(60)
        for _ in range(writes):
            opened.log(slug(number), MESSAGE)


@contextmanager
def _bare_group(home: Path) -> Iterator[None]:
    """Run a server that does nothing but group commit, in its own process, while the block runs."""
    process = FORK.Process(target=_serve_bare, args=(home,))
    process.start()
    _wait_for(home / "daemon.sock")
    yield
    process.terminate()
    process.join()


def _serve_bare(home: Path) -> None:
    """Read what waits at all sockets, log it in one transaction, and answer, forever.

    Shared with the daemon: Python, the socket, a JSON line for each request and answer, the same statements and rows, a
    savepoint for each request, one synced commit. Missing: threads, checks of requests and names, who speaks, the queue
    of writers, the check that the database is still the same file, changes for screens, duties. Different: a commit copies
    the write-ahead log into the database at 1000 pages; beside the daemon's commits, a thread copies it.
    """
    store = Bare(home)
    waiting = socket.socket(socket.AF_UNIX)
    waiting.bind(str(home / "daemon.sock"))
    waiting.listen(100)
    chosen = selectors.DefaultSelector()
    chosen.register(waiting, selectors.EVENT_READ)
    while True:
        asked: list[tuple[socket.socket, dict[str, object]]] = []
        rows = []
        for key, _ in chosen.select():
            if key.fileobj is waiting:
                sock, _ = waiting.accept()
                sock.sendall(b'{"fleet": "bare"}\n')
                chosen.register(sock, selectors.EVENT_READ)
                continue
            sock = key.fileobj  # type: ignore[assignment]
            line = sock.recv(65_536)
            if not line:
                chosen.unregister(sock)
                sock.close()
                continue
            request = json.loads(line)
            rows.append((request["args"]["slug"], request["args"]["message"], request["key"]))
            asked.append((sock, {"id": request["id"], "result": request["args"]}))
        store.log_together(rows) if rows else None
        for sock, answer in asked:
            sock.sendall(json.dumps(answer).encode() + b"\n")
