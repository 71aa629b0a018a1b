"""Jobs: ten thousand trivial items in constant memory, and what an item costs beyond its worktree and its session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import fleet
from benchmarks.counts import COLUMNS, cells_of, counted
from benchmarks.daemon import served
from benchmarks.scene import PROJECT
from benchmarks.table import Table, at_most, ms, times
from fleet.verbs.jobs.begin import JobRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

MANY, FEW = 10_000, 12
# The items whose questions to the store are counted.
COUNTED = 5
FLAT = at_most(1.15)
# Milliseconds an item beyond the bare commands.
EXTRA = at_most(150)
# The runner's memory at the end is compared with that after this many items: until then it still grows.
WARM = 1_000
SMALLEST = {"MANY": 10, "FEW": 1, "WARM": 0, "COUNTED": 1}
DOCUMENT = """\
name: bench
map:
  isolation: {isolation}
  max_parallel: {parallel}
  input: {{command: "seq {count}"}}
  steps: [{{shell: "true"}}]
"""


def run(directory: Path) -> Iterator[Table]:
    """Yield a table of items in one checkout, one of items in worktrees, and one of what an item asks the store."""
    home = _home(directory)
    yield _many(home, directory)
    yield _few(home, directory)
    yield _asked_of_the_store(home, directory)


def _home(directory: Path) -> Path:
    """Return a home with one project whose repository has one commit."""
    repository, home = directory / "repository", directory / "home"
    git = ["git", "-C", str(repository), "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    subprocess.run(["git", "init", "--quiet", repository], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=first"], check=True)
    with fleet.open(str(home)) as opened:
        opened.projects.register(str(repository), PROJECT)
    return home


def _played(home: Path, directory: Path, **how: object) -> tuple[float, dict[int, int]]:
    """Run a job; return the seconds from its first item to its end, and the runner's memory in KiB by items done.

    `how` has what the document leaves open: `isolation`, `parallel` and `count`. Raise AssertionError when the runner
    fails, or does not say at the end that all items are done.
    """
    path = directory / "job.yml"
    path.write_text(DOCUMENT.format(**how))
    words = [str(Path(sys.executable).with_name("fleet")), "job", "run", str(path), "-p", PROJECT, "--json"]
    memory: dict[int, int] = {}
    began = ended = 0.0
    said: dict[str, Any] = {}
    with subprocess.Popen(
        words, env={**os.environ, "FLEET_HOME": str(home)}, stdout=subprocess.PIPE, text=True
    ) as child:
        for line in child.stdout or ():
            said = json.loads(line)
            if said["event"] == "progress" and said["total"]:
                began = began or perf_counter()
                memory[said["done"]] = _memory(child.pid) or memory.get(said["done"], 0)
            ended = perf_counter()
    assert (child.returncode, said.get("event")) == (0, "end"), f"exit code {child.returncode}, last said: {said}"
    assert began, "no item was ever on its way"
    assert said["items"]["done"] == how["count"], said
    return ended - began, memory


def _memory(pid: int) -> int:
    """Return the memory of a process in KiB; 0 when it is gone."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return 0
    return int(next((line.split()[1] for line in text.splitlines() if line.startswith("VmRSS")), "0"))


def _many(home: Path, directory: Path) -> Table:
    """Return a table of many items in one checkout: time, and memory when warm and at the end."""
    seconds, memory = _played(home, directory, isolation="none", parallel=8, count=MANY)
    sizes = [size for done, size in sorted(memory.items()) if size and done >= WARM]
    assert sizes, "the runner's memory was never seen"
    warm, last = sizes[0], sizes[-1]
    bare = _bare(MANY // 20) * 20
    table = Table(
        f"jobs: {MANY} items of `true`, in one checkout",
        ("runner", "seconds", "ms an item", "MiB warm", "MiB at the end", "ratio"),
        [f"8 at once; warm is after {WARM} items. Bare: /bin/sh -c true started and waited for, one after another"],
    )
    cells = (f"{warm / 1024:.1f}", f"{last / 1024:.1f}", times(last / warm))
    table.add("fleet job run", f"{seconds:.1f}", ms(seconds / MANY), *cells, judged=last / warm, target=FLAT)
    table.add("bare", f"{bare:.1f}", ms(bare / MANY), "", "", "")
    return table


def _asked_of_the_store(home: Path, directory: Path) -> Table:
    """Return a table of how often the runner asks the store for each item, beyond what a job of one item asks."""
    table = Table(
        "jobs: what an item asks the store",
        ("in", *COLUMNS),
        ["of the runner, one item at a time; in a worktree it looks again until the item's session has ended"],
    )
    path = directory / "job.yml"
    for isolation in ("none", "worktree"):
        found = []
        for count in (1, 1 + COUNTED):
            path.write_text(DOCUMENT.format(isolation=isolation, parallel=1, count=count))
            with fleet.open(str(home)) as opened, counted() as asked:
                opened.jobs.run(JobRequest(project=PROJECT, file=str(path)), lambda _event: None)
            found.append(asked)
        found[1].subtract(found[0])
        table.add({"none": "one checkout"}.get(isolation, "a worktree"), *cells_of(found[1], COUNTED))
    return table


def _bare(count: int) -> float:
    """Return the seconds of this many bare `/bin/sh -c true`, one after another."""
    started = perf_counter()
    for _ in range(count):
        subprocess.run(["/bin/sh", "-c", "true"], check=True)
    return perf_counter() - started


def _few(home: Path, directory: Path) -> Table:
    """Return a table of items in worktrees and sessions, with and without a daemon, compared with bare git and tmux.

    Bare: git creates the worktree on its own branch and removes both again; tmux starts a session that runs nothing and
    ends. There is nothing to commit and nothing to merge, neither in fleet's items.
    """
    table = Table(
        f"jobs: {FEW} items of `true`, each in a worktree and a session, one after another",
        ("what", "seconds", "ms an item", "beyond bare, ms"),
        [
            "beyond bare: the journal, fleet's own start in the session, the proof of death, the checks before the release"
        ],
    )
    bare = sum(_tree_and_session(directory, number) for number in range(FEW))
    with served(home):
        ours, _memory_by_items = _played(home, directory, isolation="worktree", parallel=1, count=FEW)
    direct, _memory_by_items = _played(home, directory, isolation="worktree", parallel=1, count=FEW)
    for name, seconds, target in (("with a daemon", ours, EXTRA), ("without", direct, None)):
        extra = (seconds - bare) / FEW * 1000
        table.add(name, f"{seconds:.1f}", ms(seconds / FEW), f"{extra:.0f}", judged=extra, target=target)
    table.add("git worktree add and remove, tmux session", f"{bare:.1f}", ms(bare / FEW), "")
    return table


def _tree_and_session(directory: Path, number: int) -> float:
    """Return the seconds of a worktree and a tmux session by the bare commands."""
    tree, socket, branch = directory / f"tree-{number}", directory / "bare.sock", f"bare-{number}"
    git, tmux = ["git", "-C", str(directory / "repository")], ["tmux", "-S", str(socket), "-f", "/dev/null"]
    started = perf_counter()
    subprocess.run([*git, "worktree", "add", "--quiet", "-b", branch, tree], check=True)
    subprocess.run([*tmux, "new-session", "-d", "-c", tree, "true"], check=True)
    subprocess.run([*git, "worktree", "remove", tree], check=True)
    subprocess.run([*git, "branch", "--quiet", "-d", branch], check=True)
    return perf_counter() - started
