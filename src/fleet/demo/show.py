"""`fleet demo`: a dozen tasks, six scripted agents at a time in real tmux sessions and worktrees, and mishaps.

One agent is killed, one hangs, one leaves uncommitted files, one dispatcher is killed half-way. At the end every task is merged
and nothing is left over.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.demo.graph import GRAPH, HALF_WAY, HANGS, KILLED, script
from fleet.model.identity import Identity
from fleet.model.results.home import Show
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.tasks.edit import Edit
from fleet.verbs.tasks.show import Filters
from fleet.world.clock import Clock
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.results.tasks import TaskView

PROJECT = "demo"
AT_ONCE = 6
TIME_LIMIT = 180.0  # seconds
_EFFECTS_BEFORE_DEATH = 12  # the dispatcher of HALF_WAY is killed before this effect, from 1


class Play:
    """The play of `fleet demo`: it starts scripted agents, causes mishaps, and recovers from them.

    `show` is called in each round with the tasks that are not archived, and with a line for each event so far.
    """

    def __init__(self, home: str, repository: str, show: Callable[[list[TaskView], list[str]], None]) -> None:
        self._fleet = Fleet.open(home, actor="demo")
        self._repository = repository
        self._show = show
        self._clock = Clock()
        self._events: list[str] = []
        # The tasks whose mishap has been caused.
        self._struck: set[str] = set()
        self.result = Show(done=0, merged=0, recovered=[], refused=[], leaked=[], seconds=0.0)

    def run(self) -> Show:
        """Add the tasks and step until every task is merged or three minutes are over; return the result.

        The fleet is closed afterwards, so a play can run only once.
        """
        started = self._clock.ticks()
        with self._fleet:
            self._fleet.projects.register(self._repository, PROJECT)
            for slug, after in GRAPH.items():
                text = script(slug, bad_luck=True)
                self._fleet.tasks.add(
                    project=PROJECT, title=f"Write the {slug}", slug=slug, after=tuple(after), description=text
                )
            while self.result.merged < len(GRAPH) and self._clock.ticks() - started < TIME_LIMIT:
                self._step()
            self._record_results()
        self.result.seconds = self._clock.ticks() - started
        return self.result

    def _step(self) -> None:
        """Do one round: cause mishaps, sweep, retry failed tasks, merge done tasks, start agents, show the state."""
        self._cause_mishaps()
        for finding in self._fleet.sweep.run(kill=True):
            if finding.done and "coord-state" not in finding.what:
                self._add_event(f"sweep: {finding.what}: {finding.action.removeprefix('did: ')} ({finding.proof})")
        self._retry_failed_tasks()
        for slug in self._fleet.merge.mergeable(project=PROJECT):
            left = self._fleet.merge.task(project=PROJECT, slug=slug).left
            self.result.merged += 1
            self._add_event(f"merged {slug}" + (f"; kept: {left[0]}" if left else ""))
        room = AT_ONCE - len(self._fleet.agents.list(PROJECT))
        for task in self._fleet.tasks.ready(project=PROJECT, limit=max(room, 0)) if room > 0 else ():
            self._start(task.slug)
        self._show(list(self._fleet.tasks.list(project=PROJECT)), self._events)
        self._clock.wait(0.15)

    def _start(self, slug: str) -> None:
        """Start an agent on a task. For the task HALF_WAY, the first time, kill the dispatcher half-way."""
        if slug == HALF_WAY and slug not in self._struck:
            self._struck.add(slug)
            self._kill_dispatcher_half_way(slug)
            return
        self._fleet.dispatches.start(Wanted(project=PROJECT, slug=slug, engine="scripted"))
        self._add_event(f"dispatched {slug}")

    def _kill_dispatcher_half_way(self, slug: str) -> None:
        """Dispatch the task in a child process that kills itself with SIGKILL before the dispatch is complete."""
        child = os.fork()
        if child == 0:
            try:
                with Fleet.open(self._fleet.home, actor="doomed") as doomed:
                    doomed.funnel.watcher = _KillAtEffect(_EFFECTS_BEFORE_DEATH)
                    doomed.dispatches.start(Wanted(project=PROJECT, slug=slug, engine="scripted"))
            finally:
                os._exit(0)  # also after an error: only the parent goes on with the play
        _pid, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            self._add_event(f"the dispatcher of {slug} ended before it could be killed")
            return
        self._add_event(f"the dispatcher of {slug} was killed half-way")
        self.result.recovered.append(f"{slug}: its dispatcher was killed half-way")

    def _cause_mishaps(self) -> None:
        """Kill the agent of KILLED with SIGKILL, and end the agent of HANGS with `fleet kill`, once each."""
        for agent in self._fleet.agents.list(PROJECT):
            slug = agent.task
            if slug in self._struck or slug not in {KILLED, HANGS}:
                continue
            screen = self._screen(agent.id)
            process = Identity.parse(agent.process or "")
            if slug == KILLED and "begins" in screen and process is not None:
                self._struck.add(slug)
                self._fleet.world.processes.signal(process, signal.SIGKILL)
                self._add_event(f"the agent of {slug} was killed -9")
            if slug == HANGS and "hang" in screen:
                self._struck.add(slug)
                self._fleet.dispatches.kill(agent.id, "it hangs")
                self._add_event(f"the agent of {slug} hung, and was killed with its reason")

    def _screen(self, ident: str) -> str:
        """Return the text on an agent's terminal; "" when it cannot be read."""
        try:
            return self._fleet.agents.screen(ident)
        except errors.FleetError:
            return ""

    def _retry_failed_tasks(self) -> None:
        """Open failed and blocked tasks again, as a person would, with a script that succeeds."""
        for task in self._fleet.tasks.list(project=PROJECT):
            if task.status in {"failed", "blocked"}:
                slug = task.slug
                self._fleet.tasks.retry(project=PROJECT, slug=slug)
                self._fleet.tasks.edit(Edit(project=PROJECT, slug=slug, description=script(slug, bad_luck=False)))
                self._add_event(f"{slug} {task.status} ({task.reason}): tried again in the same worktree")
                self.result.recovered.append(f"{slug}: {task.status}, {task.reason}")

    def _record_results(self) -> None:
        """Count the done tasks, move uncommitted work of kept worktrees to refs, sweep, and list what leaked."""
        tasks = self._fleet.tasks.list(project=PROJECT, filters=Filters(archived=True))
        self.result.done = sum(task.status == "done" for task in tasks)
        for tree in self._fleet.sweep.kept_trees():
            self.result.refused.append(f"{tree.task}: its worktree had uncommitted work, and was not removed")
            kept = self._fleet.sweep.keep(project=PROJECT, slug=tree.task)
            self._add_event(f"{tree.task}: its uncommitted work is kept in {kept.ref}")
        self._fleet.sweep.run(kill=True)
        self.result.leaked = leftovers(self._fleet)

    def _add_event(self, event: str) -> None:
        self._events.append(event)


class _KillAtEffect:
    """A watcher of effects that kills its own process with SIGKILL before effect `number` (from 1)."""

    def __init__(self, number: int) -> None:
        self._left = number

    def before(self, _effect: str) -> None:
        """Count one effect; kill this process when the effect is the one to die at."""
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def during(self, _effect: str, _pid: int) -> None:
        """Do nothing."""

    def after(self, _effect: str) -> None:
        """Do nothing."""


def leftovers(fleet: Fleet) -> list[str]:
    """Return all sessions, claims, prompt files and worktrees of the demo's project that exist in the home, one line each.

    Call it when the demo is over: then each of them is a leak. The seat is left out: it is listed as a claim of the kind
    coord_spawn_marker, and a demo may end with a coordinator.
    """
    leaked = [f"session {pane.session}" for pane in fleet.world.tmux.listing().panes]
    leaked += [f"{claim.kind} {claim.name}" for claim in fleet.claims.list() if claim.kind != "coord_spawn_marker"]
    leaked += [f"prompt {name}" for name in fleet.files.names(paths.INBOX) if name != "archive"]
    leaked += [f"worktree {name}" for name in fleet.files.names(paths.project_folder(PROJECT, paths.WORKTREES))]
    return leaked
