"""Crash scenarios for jobs: a runner is killed at each of its effects, and the job is resumed."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from fleet.testing.crash.scenarios import BYSTANDER, Scenario, add_bystander, sweep_home, until
from fleet.testing.scene import PROJECT
from fleet.verbs.jobs.begin import JobRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.api.fleet import Fleet
    from fleet.testing.scene import Scene

ITEMS = ("a", "b")
# The step commits only once, because an attempt in the shared checkout may be repeated.
COMMIT = "git -c user.name=scene -c user.email=scene@localhost commit --quiet --message 'item {item}'"
WORK = f"test -e {{item}}.txt || {{ echo {{item}} > {{item}}.txt && git add {{item}}.txt && {COMMIT}; }}"
DOCUMENT = """\
name: scene
map:
  isolation: {isolation}
  input: {given}
  max_parallel: {parallel}
  retry: {{attempts: 1}}
  steps:
    - shell: |
        {work}
"""


class JobScenario(Scenario):
    """A scenario whose jobs are cancelled before leftovers are searched."""

    def finish(self, scene: Scene) -> list[str]:
        """Cancel the jobs and drop their dead items; then return a fault for everything that is left."""
        with scene.fleet() as fleet:
            for job in fleet.jobs.list():
                if job.state not in {"done", "cancelled"}:
                    fleet.jobs.cancel(job.id, "the scene is over")
                if fleet.jobs.dead_items(job.id):
                    fleet.jobs.drop(job.id, (), everything=True)
        return super().finish(scene)


def _prepare(isolation: str, parallel: int, given: str) -> Callable[[Scene], None]:
    """Return a function that prepares a scene: a bystander, and a job's document with these values; tmux's hook is off.

    `given` is its `input`, which lists the items; `parallel` is its `max_parallel`.
    """

    def prepare(scene: Scene) -> None:
        add_bystander(scene)
        with scene.fleet() as fleet:
            words = ["tmux", "-N", "-S", fleet.world.tmux.socket, "set-hook", "-gu", "pane-died"]
        subprocess.run(words, check=True, capture_output=True)
        text = DOCUMENT.format(isolation=isolation, parallel=parallel, given=given, work=WORK)
        Path(scene.home, "job.yml").write_text(text, encoding="utf-8")

    return prepare


def _run(fleet: Fleet) -> None:
    """Run the scene's job to its end."""
    fleet.jobs.run(JobRequest(project=PROJECT, file=f"{fleet.home}/job.yml"), lambda _event: None)


def _wait_for_sessions(scene: Scene) -> list[str]:
    """Wait until the sessions of the items have ended: they run on without the job's runner. Return no faults."""
    with scene.fleet() as fleet:
        until(lambda: not fleet.world.processes.marks() and not _has_live_pane(fleet))
    return []


def _has_live_pane(fleet: Fleet) -> bool:
    """Return whether a session of the job still runs.

    tmux's panes tell, because a process that was just forked has no mark yet.
    """
    processes = fleet.world.processes
    panes = [pane for pane in fleet.world.tmux.listing().panes if pane.session != BYSTANDER]
    return any(processes.life(processes.identify(pane.pid)) == "alive" for pane in panes)


def _recover(scene: Scene) -> None:
    """Sweep, then resume the job, or run it if it was never recorded."""
    sweep_home(scene)
    with scene.fleet() as fleet:
        _carry_on(fleet)


def _carry_on(fleet: Fleet) -> None:
    """Resume the job unless it is done; run it if it was never recorded."""
    before = fleet.jobs.list()
    if not before:
        _run(fleet)
    elif before[0].state != "done":
        fleet.jobs.resume(before[0].id, lambda _event: None)


def _check(scene: Scene) -> list[str]:
    """Resume the job, or run it if it was never recorded; return faults unless every item is done exactly once."""
    with scene.fleet() as fleet:
        _carry_on(fleet)
        (job,) = fleet.jobs.list()
        states = {each.item: each.state for each in fleet.jobs.items(job.id)}
        faults = [] if job.state == "done" else [f"the job is {job.state}: {job.reason}"]
        faults += [] if states == dict.fromkeys(ITEMS, "done") else [f"items: {states}"]
        titles = scene.git("log", "--no-merges", "--format=%s", job.branch).splitlines()
    faults += [
        f"item {item} is {titles.count(f'item {item}')} times on the branch"
        for item in ITEMS
        if titles.count(f"item {item}") != 1
    ]
    if scene.git("status", "--porcelain") or scene.git("rev-parse", "--abbrev-ref", "HEAD") != "main":
        faults.append("the user's checkout was touched")
    return faults


JOB_SCENARIOS = {
    name: JobScenario(
        name=name,
        prepare=_prepare(isolation, parallel, given),
        act=_run,
        after_death=_wait_for_sessions,
        check=_check,
        calm=_wait_for_sessions,
        recover=_recover,
    )
    for name, isolation, parallel, given in (
        ("job", "worktree", 2, "[a, b]"),
        ("job-in-turn", "worktree", 1, "[a, b]"),
        ("job-in-place", "none", 1, '{command: "echo a; echo b"}'),
    )
}
