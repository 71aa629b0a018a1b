"""`fleet demo --crowd`: fifty real processes work through one task graph at once. Tests use it to load the store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model import FLEET_HOME
from fleet.model.results.home import Demonstration
from fleet.world.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.results.projects import ProjectView

PROJECT = "demo"
LAYERS = 10
MESSAGES = 3  # on each task
_POLL_SECONDS = 0.02


def graph(tasks: int) -> list[bytes]:
    """Return `tasks` tasks as JSON Lines, in layers of `tasks` // 10 tasks: ten layers, or more if that leaves a rest.

    Each task waits for two tasks of the layer above, or for the only one there; those of the first layer for none.
    """
    width = max(tasks // LAYERS, 1)
    lines = []
    for number in range(tasks):
        layer, place = divmod(number, width)
        above = [f"t{(layer - 1) * width + (place + shift) % width:04d}" for shift in (0, 1)] if layer else []
        node = {"slug": f"t{number:04d}", "title": f"Task {number} of layer {layer}", "after": sorted(set(above))}
        lines.append(json.dumps(node).encode())
    return lines


def run(
    home: str, repository: str, *, processes: int, tasks: int, show: Callable[[ProjectView], None]
) -> Demonstration:
    """Let `processes` worker processes work through a graph of `tasks` tasks at once; return what was counted.

    While they work, `show` is called with the project ten times a second, and once at the end.
    """
    clock = Clock()
    with Fleet.open(home, actor="demo") as fleet:
        fleet.projects.register(repository, PROJECT)
        fleet.graph.ingest(project=PROJECT, lines=graph(tasks), name="demo")
        before, started = fleet.operations.newest(), clock.ticks()
        crowd = [_start_worker(home, f"worker-{number:02d}") for number in range(processes)]
        while any(child.poll() is None for child in crowd):
            show(fleet.projects.show(PROJECT))
            clock.wait(0.1)
        seconds = clock.ticks() - started
        show(fleet.projects.show(PROJECT))
        replies = [json.loads(child.communicate()[0] or "{}") for child in crowd]
        counts = fleet.projects.show(PROJECT).tasks
        kept = sum(len(node.log or ()) for node in fleet.graph.export(project=PROJECT))
        return Demonstration(
            processes=processes,
            failed_processes=sum(child.returncode != 0 for child in crowd),
            tasks=tasks,
            done=counts.done,
            lost_races=sum(reply.get("lost", 0) for reply in replies),
            acknowledged=sum(reply.get("logged", 0) for reply in replies),
            kept=kept,
            operations=fleet.operations.newest() - before,
            seconds=seconds,
        )


def _start_worker(home: str, name: str) -> subprocess.Popen[str]:
    """Start one worker process, without the FLEET_ variables of the caller."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("FLEET_")}
    words = [sys.executable, "-m", "fleet.demo.crowd", name]
    return subprocess.Popen(words, env=env | {FLEET_HOME: home}, stdout=subprocess.PIPE, text=True)


def work(fleet: Fleet, clock: Clock) -> dict[str, int]:
    """Claim and finish ready tasks until no task of the project is open or in progress.

    Return how many messages were logged (`logged`), and how many claims other processes won (`lost`).
    """
    counts = {"logged": 0, "lost": 0}
    while True:
        ready = fleet.tasks.ready(project=PROJECT, limit=8)
        if ready:
            _work_on_task(fleet, ready[os.getpid() % len(ready)].slug, counts)
        elif not _is_work_left(fleet):
            return counts
        else:
            clock.wait(_POLL_SECONDS)


def _is_work_left(fleet: Fleet) -> bool:
    """Whether a task of the project is still open or in progress."""
    counts = fleet.projects.show(PROJECT).tasks
    return counts.open + counts.in_progress > 0


def _work_on_task(fleet: Fleet, slug: str, counts: dict[str, int]) -> None:
    """Claim one task, log its messages and report it done; count the messages in `counts`.

    When another process was faster, count the claim as lost and do nothing else.
    """
    try:
        fleet.tasks.claim(project=PROJECT, slug=slug)
    except (errors.Contested, errors.Refused):
        counts["lost"] += 1
        return
    for number in range(MESSAGES):
        fleet.tasks.log(project=PROJECT, slug=slug, message=f"step {number + 1} of {MESSAGES}")
        counts["logged"] += 1
    fleet.tasks.done(project=PROJECT, slug=slug)


def main() -> None:
    """Run one worker process of the crowd, under the name on the command line; print its counts as JSON."""
    with Fleet.open(actor=sys.argv[1]) as fleet:
        print(json.dumps(work(fleet, Clock())))  # noqa: T201


if __name__ == "__main__":
    main()
