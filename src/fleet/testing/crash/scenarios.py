"""Crash scenarios: for each verb the scene, the act that is killed, and the checks of what must be true afterwards."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.homes.sweep import CLEAN
from fleet.model.branches import INTEGRATION, task_branch
from fleet.testing.crash.watchers import ActBefore, die
from fleet.testing.scene import PROJECT, Scene
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.api.fleet import Fleet

PATIENCE = 45.0
BYSTANDER = "by-the-way"
_SWEEPS = 30
_BETWEEN_SWEEPS = 0.2


def _prepare_nothing(_scene: Scene) -> None:
    """Do nothing: the scene needs no preparation."""


def _no_faults(_scene: Scene) -> list[str]:
    """Return []: the check for a scenario in which nothing is to be checked."""
    return []


def sweep_home(scene: Scene) -> None:
    """Sweep once, as the next command of a person or the daemon does."""
    with scene.fleet("sweeper") as fleet:
        fleet.sweep.run(kill=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """An act that is killed at each of its effects, with what prepares its scene and what checks it.

    `after_death` is done after the death, `check` at the end; both return faults: lines that say what is wrong.

    `calm` and `recover` are for double deaths: `calm` waits until processes that outlive the first death have ended;
    `recover` is what a person does then, and is killed too.
    """

    name: str
    act: Callable[[Fleet], object]
    prepare: Callable[[Scene], None] = _prepare_nothing
    check: Callable[[Scene], list[str]] = _no_faults
    after_death: Callable[[Scene], list[str]] = _no_faults
    calm: Callable[[Scene], object] = _prepare_nothing
    recover: Callable[[Scene], object] = sweep_home

    def scene(self, store: str) -> Scene:
        """Return a new scene on this store."""
        return Scene(store=store)

    def finish(self, scene: Scene) -> list[str]:
        """End all agents, archive all tasks and sweep. Return a fault for everything that is left, and for a dead bystander."""
        alive = _is_bystander_alive(scene)
        with scene.fleet("finisher") as fleet:
            for agent in fleet.agents.list():
                fleet.dispatches.kill(agent.id, "the scene is over")
            for task in list(fleet.tasks.list(project=PROJECT)):
                if task.status not in {"done", "failed", "abandoned"}:
                    fleet.tasks.abandon(project=PROJECT, slug=task.slug, override=True)
                fleet.tasks.archive(project=PROJECT, slug=task.slug)
            left = self._sweep_until_clean(scene, fleet)
        return [*(f"left: {each}" for each in left), *([] if alive else ["the bystander was touched"])]

    def _sweep_until_clean(self, scene: Scene, fleet: Fleet) -> list[str]:
        """Sweep until nothing is left, at most 30 times; return what is left.

        A process that tmux started at an agent's death may still be releasing claims.
        """
        for _ in range(_SWEEPS):
            fleet.sweep.run(kill=True, phases=CLEAN)
            left = scene.leftovers()
            if not left:
                break
            fleet.clock.wait(_BETWEEN_SWEEPS)
        return left


def add_bystander(scene: Scene) -> None:
    """Start a session on fleet's tmux server that does not belong to fleet, so that a check can prove it untouched."""
    with scene.fleet() as fleet:
        fleet.world.tmux.ensure_server()
        socket = fleet.world.tmux.socket
    words = ["tmux", "-N", "-S", socket, "new-session", "-d", "-s", BYSTANDER, "sleep", "1000"]
    subprocess.run(words, check=True, capture_output=True)


def _is_bystander_alive(scene: Scene) -> bool:
    """Return whether the bystander's session still runs."""
    with scene.fleet() as fleet:
        pane = fleet.world.tmux.listing().pane(BYSTANDER)
        return pane is not None and not pane.dead


def until(what: Callable[[], object]) -> None:
    """Wait until a condition is true that another process brings about; raise TimeoutError after 45 seconds."""
    deadline = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > deadline:
            msg = "it did not happen in time"
            raise TimeoutError(msg)
        time.sleep(0.01)


# dispatch ---------------------------------------------------------------------------------------------------------------
def _add_task(scene: Scene) -> None:
    """Prepare the scene: a bystander and one task."""
    add_bystander(scene)
    with scene.fleet() as fleet:
        fleet.tasks.add(project=PROJECT, title="T", slug="t")


def _dispatch(fleet: Fleet) -> None:
    """Do the act that this scenario kills: dispatch the task `t` to an agent that only sleeps."""
    fleet.dispatches.start(Wanted(project=PROJECT, slug="t", engine="shell", command=("sleep", "1000")))


def _check_dispatch(scene: Scene) -> list[str]:
    """Return a fault if several agents work, if one does that does not have the task `t`, or if none does and `t` is not open.

    If none works, dispatch the task again, and kill the agent; it is a fault if that dispatch is refused.
    """
    with scene.fleet() as fleet:
        task = fleet.tasks.show(project=PROJECT, slug="t")
        working = [agent.id for agent in fleet.agents.list()]
        if working:
            return [] if [task.assignee] == working else [f"agents at work: {working}, assignee {task.assignee}"]
        if task.status != "open":
            return [f"nobody works, but the task is {task.status}"]
        try:
            again = fleet.dispatches.start(Wanted(project=PROJECT, slug="t", engine="shell", command=("sleep", "1000")))
        except errors.FleetError as error:
            return [f"it cannot be dispatched again: {error}"]
        fleet.dispatches.kill(again.id, "tried")
    return []


# launch ---------------------------------------------------------------------------------------------------------------
def _dispatch_without_session(scene: Scene) -> None:
    """Prepare the scene: a dispatch whose process died just before it created the session.

    Raise RuntimeError when it ended otherwise.
    """
    _add_task(scene)
    child = os.fork()
    if child == 0:
        try:
            with scene.fleet() as fleet:
                fleet.funnel.watcher = ActBefore("tmux new-session", die)
                _dispatch(fleet)
        except BaseException as error:  # noqa: BLE001 - the parent is told
            os.write(2, f"in the child: {error!r}\n".encode())
        finally:
            os._exit(0)  # only the parent goes on
    _pid, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        msg = "the dispatch ended before it could be killed"
        raise RuntimeError(msg)


def _launch(fleet: Fleet) -> None:
    """Do the act that this scenario kills: launch the agent of task `t` in this process."""
    fleet.sessions.launch(fleet.dispatches.find("t"))


def _check_launch(scene: Scene) -> list[str]:
    """Return a fault if an agent works, or if the task `t` is neither open nor blocked."""
    with scene.fleet() as fleet:
        task = fleet.tasks.show(project=PROJECT, slug="t")
        if fleet.agents.list() or task.status not in {"open", "blocked"}:
            return [f"agents {fleet.agents.list()}, task {task.status}"]
    return []


# settle -----------------------------------------------------------------------------------------------------------------
SCRIPT = "write a.txt hello\ncommit Add a\nlog half-way\ndone\n"


def _leave_finished_agent(scene: Scene) -> None:
    """Prepare the scene: an agent that worked, reported and exited, but is not settled; tmux's hook is switched off."""
    _add_task(scene)
    with scene.fleet() as fleet:
        socket = fleet.world.tmux.socket
        subprocess.run(["tmux", "-N", "-S", socket, "set-hook", "-gu", "pane-died"], check=True, capture_output=True)
        fleet.tasks.add(project=PROJECT, title="S", slug="s", description=SCRIPT)
        ident = fleet.dispatches.start(Wanted(project=PROJECT, slug="s", engine="scripted")).id
        until(lambda: fleet.agents.list()[0].state == "exited" and not fleet.world.processes.marked(ident))


def _settle(fleet: Fleet) -> None:
    """Do the act that this scenario kills: settle the dispatch of task `s`."""
    fleet.sessions.settle(fleet.dispatches.find("s"))


def _check_done(scene: Scene) -> list[str]:
    """Return faults unless the task `s` is done or waits for its merge, with the one entry of its log and its work."""
    with scene.fleet() as fleet:
        task = fleet.tasks.show(project=PROJECT, slug="s")
        over = task.status == "done" or (task.status, task.stage) == ("in_progress", "finisher")
        faults = [] if over else [f"the task is {task.status}"]
        if len(task.log) != 1:
            faults.append("its log was lost")
        tree = f"{scene.home}/{paths.worktree(PROJECT, 's')}/a.txt"
        merged = task.archived and scene.git("show", f"{INTEGRATION}:a.txt") == "hello"
        if not (os.path.exists(tree) or merged):
            faults.append("its work was lost")
    return faults


# kill -------------------------------------------------------------------------------------------------------------------
def _start_stubborn_agent(scene: Scene) -> None:
    """Prepare the scene: an agent that ignores SIGTERM and has started a background process."""
    _add_task(scene)
    with scene.fleet() as fleet:
        fleet.tasks.add(project=PROJECT, title="S", slug="s", description="stubborn\ndaemon\nhang\n")
        fleet.dispatches.start(Wanted(project=PROJECT, slug="s", engine="scripted"))
        until(
            lambda: (
                fleet.agents.list()[0].state == "working" and "hang" in fleet.agents.screen(fleet.dispatches.find("s"))
            )
        )


def _kill(fleet: Fleet) -> None:
    """Do the act that this scenario kills: kill the agent of task `s`."""
    fleet.dispatches.kill(fleet.dispatches.find("s"), "a test")


# merge ------------------------------------------------------------------------------------------------------------------
def _leave_done_task(scene: Scene) -> None:
    """Prepare the scene: a task whose agent is settled and whose work is not merged."""
    _leave_finished_agent(scene)
    with scene.fleet() as fleet:
        fleet.sessions.settle(fleet.dispatches.find("s"))


def _merge(fleet: Fleet) -> None:
    """Do the act that this scenario kills: merge task `s`."""
    fleet.merge.task(project=PROJECT, slug="s")


def _check_merge(scene: Scene) -> list[str]:
    """Merge the task if it is not merged yet; return faults unless the integration branch has exactly one merge.

    The user's checkout must be unchanged.
    """
    faults = _check_done(scene)
    with scene.fleet() as fleet:
        task = fleet.tasks.show(project=PROJECT, slug="s")
        if not task.archived:
            fleet.merge.task(project=PROJECT, slug="s")
    merges = scene.git("log", "--merges", "--format=%s", INTEGRATION).splitlines()
    if merges != ["Merge s"]:
        faults.append(f"merges on the integration branch: {merges}")
    if scene.git("status", "--porcelain") or scene.git("rev-parse", "--abbrev-ref", "HEAD") != "main":
        faults.append("the user's checkout was touched")
    return faults


# resume -----------------------------------------------------------------------------------------------------------------
COMMIT = "git add . && git -c user.name=scene -c user.email=scene@localhost commit --quiet --message 'Add a'"
# The command of an agent that commits once, even if it is started again, and then sleeps.
HALF = ("sh", "-c", f"test -e a.txt || (echo hello >a.txt && {COMMIT}); echo committed; exec sleep 1000")


def leave_dead_agent(scene: Scene) -> None:
    """Prepare the scene: an agent that was killed in the middle of its work and is not settled."""
    _add_task(scene)
    with scene.fleet() as fleet:
        socket = fleet.world.tmux.socket
        subprocess.run(["tmux", "-N", "-S", socket, "set-hook", "-gu", "pane-died"], check=True, capture_output=True)
        ident = scene.dispatch(fleet, "t", *HALF)
        until(lambda: "committed" in fleet.agents.screen(ident))
        fleet.world.processes.kill_all(fleet.world.processes.marked(ident))
        until(lambda: fleet.agents.list()[0].state == "exited" and not fleet.world.processes.marked(ident))


def _resume(fleet: Fleet) -> None:
    """Do the act that this scenario kills: resume the work on task `t`."""
    fleet.dispatches.resume("t")


def resume_again(scene: Scene) -> list[str]:
    """Resume task `t` after the death; return a fault if that fails. NotResumable is no fault while an agent works."""
    with scene.fleet("again") as fleet:
        try:
            fleet.dispatches.resume("t")
        except errors.NotResumable as error:
            return [] if fleet.agents.list() else [f"it cannot be resumed again: {error}"]
        except errors.FleetError as error:
            return [f"it cannot be resumed again: {error}"]
    return []


def check_resume(scene: Scene) -> list[str]:
    """Return faults unless exactly one successor works, with the commits of the dead agent."""
    with scene.fleet() as fleet:
        working = [agent.id for agent in fleet.agents.list()]
        faults = [] if len(working) == 1 else [f"agents at work: {working}"]
        task = fleet.tasks.show(project=PROJECT, slug="t")
        if [task.assignee] != working or task.status != "in_progress":
            faults.append(f"the task is {task.status}, with {task.assignee}")
    return faults if scene.git("show", f"{task_branch('t')}:a.txt") == "hello" else [*faults, "its work was lost"]


def _sweep(fleet: Fleet) -> None:
    """Do the act that this scenario kills: sweep the home, and release what is found."""
    fleet.sweep.run(kill=True)


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(name="dispatch", prepare=_add_task, act=_dispatch, check=_check_dispatch),
        Scenario(name="launch", prepare=_dispatch_without_session, act=_launch, check=_check_launch),
        Scenario(name="settle", prepare=_leave_finished_agent, act=_settle, check=_check_done),
        Scenario(name="kill", prepare=_start_stubborn_agent, act=_kill),
        Scenario(name="merge", prepare=_leave_done_task, act=_merge, check=_check_merge),
        Scenario(name="sweep", prepare=_leave_finished_agent, act=_sweep, check=_check_done),
        Scenario(name="resume", prepare=leave_dead_agent, act=_resume, after_death=resume_again, check=check_resume),
    )
}
