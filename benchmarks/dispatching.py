"""Dispatch compared with bare `git worktree add` and `tmux new-session`; fifty dispatches at once; the sweep of many journals; ps."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.counts import COLUMNS, cells_of, counted
from benchmarks.processes import FLEET, environment, seconds_of
from benchmarks.table import Table, at_most, ms, times
from benchmarks.timing import taking_turns
from fleet.model.agents.actors import Caller
from fleet.store import queries as q
from fleet.testing.crash.scenarios import until
from fleet.testing.scene import PROJECT, Scene
from fleet.testing.simulated import SimulatedScene
from fleet.verbs.dispatch.plan import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.timing import Sample
    from fleet.api.fleet import Fleet
    from fleet.store.transaction import Tx

ROUNDS = 60
LARGE_ROUNDS = 7
FILES = 20_000
JOURNALS = 10_000
SESSIONS = 200
AT_ONCE = 50
FEW_AGENTS, MANY_AGENTS = 2, 80
SMALLEST = {
    "ROUNDS": 1,
    "LARGE_ROUNDS": 1,
    "FILES": 5,
    "JOURNALS": 5,
    "SESSIONS": 2,
    "AT_ONCE": 2,
    "FEW_AGENTS": 1,
    "MANY_AGENTS": 2,
    "LISTINGS": 2,
}
LISTINGS = 15
TARGET, PS_TARGET = at_most(1.25), at_most(2)


def run(_directory: Path) -> Iterator[Table]:
    """Yield the tables: dispatch and what it asks the store, many dispatches at once, the sweep, and `fleet ps`."""
    table = Table(
        title="dispatch, in-process, beside bare git and tmux", columns=("repository", "fleet", "bare", "ratio")
    )
    for name, files, rounds in (("small", 0, ROUNDS), (f"{FILES} files", FILES, LARGE_ROUNDS)):
        ours, bare = _dispatches(files, rounds)
        ratio = ours / bare
        table.add(name, f"{ours * 1000:.0f} ms", f"{bare * 1000:.0f} ms", f"{ratio:.2f}", judged=ratio, target=TARGET)
    yield table
    yield _asked_of_the_store()
    yield _side_by_side()
    yield _sweep()
    yield _listing()


def _dispatches(files: int, rounds: int) -> tuple[float, float]:
    """Return the median seconds of a dispatch, and of the bare git and tmux commands, in a repository of this many files."""
    with Scene(settings="[limits]\nagents = 1000\nproject_agents = 1000\n") as scene:
        _fill(scene, files)
        other = tempfile.mkdtemp(prefix="fleet-bare-", dir=scene.root)
        ours, bare = [], []
        with scene.fleet() as fleet:
            for number in range(rounds + 1):
                fleet.tasks.add(project=PROJECT, title="T", slug=f"t{number}")
                ours.append(_timed(lambda: _ours(fleet, f"t{number}")))  # noqa: B023
                _launched(fleet)
                bare.append(_timed(lambda: _bare(scene, other, number)))  # noqa: B023
        subprocess.run(["tmux", "-S", f"{other}/sock", "kill-server"], capture_output=True, check=False)
        return median(ours[1:]), median(bare[1:])


def _ours(fleet: Fleet, slug: str) -> None:
    """Dispatch a task to an agent that only sleeps."""
    fleet.dispatches.start(Wanted(project=PROJECT, slug=slug, engine="shell", command=("sleep", "1000")))


def _launched(fleet: Fleet) -> None:
    """Wait until all agents are launched, so that their start does not burden the next measurement."""
    until(lambda: all(agent.process for agent in fleet.agents.list()))


def _bare(scene: Scene, other: str, number: int) -> None:
    """Add a worktree and a tmux session by the bare commands."""
    path, branch = f"{other}/tree-{number}", f"bare/{number}"
    scene.git("worktree", "add", "--quiet", "-b", branch, path, "main")
    words = [
        "tmux",
        "-S",
        f"{other}/sock",
        "-f",
        "/dev/null",
        "new-session",
        "-d",
        "-s",
        f"s{number}",
        "-c",
        path,
        "sleep",
        "1000",
    ]
    subprocess.run(words, check=True, capture_output=True)


def _timed(act: object) -> float:
    started = perf_counter()
    act()  # type: ignore[operator]
    return perf_counter() - started


def _fill(scene: Scene, files: int) -> None:
    """Add this many files to the scene's repository and commit them."""
    for number in range(files):
        path = Path(scene.repository, "many", str(number // 200), f"{number}.txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"file {number}\n")
    if files:
        scene.git("add", ".")
        scene.git("commit", "--quiet", "--message=many")


def _asked_of_the_store() -> Table:
    """Return a table of how often a dispatch, a launch and a settle ask the store, counted in a simulated world."""
    table = Table("dispatch: what it asks the store", ("act", *COLUMNS))
    with SimulatedScene() as scene:
        scene.fleet.tasks.add(project=PROJECT, title="T", slug="t")
        with counted() as dispatch:
            ident = scene.dispatch("t", scene.open())
        with counted() as launch:
            scene.launch(ident)
        scene.exit(ident, 1)
        with counted() as settle:
            scene.open().sessions.settle(ident)
    for name, found in (("dispatch", dispatch), ("launch", launch), ("settle", settle)):
        table.add(name, *cells_of(found))
    return table


def _listing() -> Table:
    """Return a table of `fleet ps` among few agents and among many."""
    with Scene(settings="[limits]\nagents = 1000\nproject_agents = 1000\n") as scene, scene.fleet() as fleet:
        env = environment(FLEET_HOME=scene.home)
        found: dict[int, Sample] = {}
        for size in (FEW_AGENTS, MANY_AGENTS):
            for number in range(len(fleet.agents.list()), size):
                fleet.tasks.add(project=PROJECT, title="T", slug=f"t{number}")
                _ours(fleet, f"t{number}")
            _launched(fleet)
            found[size] = taking_turns({"ps": lambda: seconds_of([FLEET, "ps"], env)}, rounds=LISTINGS)["ps"]
    ratio = found[MANY_AGENTS].median / found[FEW_AGENTS].median
    table = Table(
        title="dispatch: fleet ps, whole processes, median ms",
        columns=("what", f"{FEW_AGENTS} agents", f"{MANY_AGENTS} agents", "ratio"),
    )
    cells = [ms(found[size].median) for size in (FEW_AGENTS, MANY_AGENTS)]
    table.add("ps", *cells, times(ratio), judged=ratio, target=PS_TARGET)
    return table


def _side_by_side() -> Table:
    """Return a table of many `fleet dispatch` processes at once: the seconds for all, and how many failed."""
    table = Table(title=f"dispatch: {AT_ONCE} side by side, as processes", columns=("what", "value"))
    with Scene(settings="[limits]\nagents = 1000\nproject_agents = 1000\n") as scene:
        with scene.fleet() as fleet:
            for number in range(AT_ONCE):
                fleet.tasks.add(project=PROJECT, title="T", slug=f"t{number}")
            program = fleet.world.fleet_program
        env = {"FLEET_HOME": scene.home, "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": scene.root}

        def one(number: int) -> int:
            words = [program, "dispatch", f"t{number}", "-p", PROJECT, "--engine", "shell", "--", "sleep", "1000"]
            return subprocess.run(words, env=env, capture_output=True, check=False).returncode

        started = perf_counter()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            codes = list(pool.map(one, range(AT_ONCE)))
        table.add("seconds for all", f"{perf_counter() - started:.1f}")
        table.add(
            "that failed",
            str(sum(code != 0 for code in codes)),
            judged=sum(code != 0 for code in codes),
            target=at_most(0),
        )
    return table


def _sweep() -> Table:
    """Return a table of one sweep over many ended journals, beside many live sessions."""
    table = Table(title=f"sweep of {JOURNALS} journals beside {SESSIONS} live sessions", columns=("what", "value"))
    with Scene() as scene, scene.fleet() as fleet:
        fleet.world.tmux.ensure_server()
        for number in range(SESSIONS):
            words = [
                "tmux",
                "-N",
                "-S",
                fleet.world.tmux.socket,
                "new-session",
                "-d",
                "-s",
                f"by-{number}",
                "sleep",
                "1000",
            ]
            subprocess.run(words, check=True, capture_output=True)
        _journals(fleet)
        calls: list[str] = []
        fleet.funnel.watcher = _Counter(calls)
        started = perf_counter()
        fleet.sweep.run(kill=False)
        seconds = perf_counter() - started
        table.add("seconds", f"{seconds:.2f}", judged=seconds, target=at_most(1))
        table.add("calls of tmux", str(sum(each.startswith("tmux") for each in calls)))
    shutil.rmtree(scene.root, ignore_errors=True)
    return table


class _Counter:
    """A watcher that records the effects."""

    def __init__(self, calls: list[str]) -> None:
        self._calls = calls

    def before(self, effect: str) -> None:
        """Record the effect."""
        self._calls.append(effect)

    def during(self, _effect: str, _pid: int) -> None:
        """Do nothing."""

    def after(self, _effect: str) -> None:
        """Do nothing."""


def _journals(fleet: Fleet) -> None:
    """Add many ended dispatches, each with the bundle of a task that is not archived, because these can pile up."""
    lines = [json.dumps({"slug": f"t{n}", "title": "T", "status": "failed"}).encode() for n in range(JOURNALS)]
    fleet.graph.ingest(project=PROJECT, lines=lines, name="journals")

    def work(tx: Tx) -> None:
        for number in range(JOURNALS):
            ident, slug = f"{number:08x}", f"t{number}"
            q.reserve_id(tx, id=ident, at=1)
            ended = dict.fromkeys(("exit_status", "reason", "report", "asked_for"))
            q.add_dispatch(
                tx,
                id=ident,
                kind="worker",
                project=PROJECT,
                slug=slug,
                owner=f"project/p/slug/{slug}",
                host=fleet.world.host.id,
                home=fleet.world.record.id,
                tmux_socket="s",
                at=1,
                spawner="",
                **dict.fromkeys(("predecessor", "engine", "autonomy", "model", "command", "base", "server")),
            )
            q.end_dispatch(tx, id=ident, before="pending", after="failed", at=1, work=None, **ended)
            q.add_bundle(tx, project=PROJECT, slug=slug, host="h", owner=ident)
            q.add_claim(tx, id=ident, dispatch=None, project=PROJECT, slug=slug, job=None, host=fleet.world.host.id, home=fleet.world.record.id,
                   kind="worker_dir",
                   name=f"n{number}", actor="", effect_lock="", data="{}", at=1)  # fmt: skip

    fleet.store.transact("fill", work, Caller(actor="bench", at=1, key="fill"))
