"""`fleet demo --night`: a coordinator leads five scripted agents at a time through thirty tasks, and is replaced twice.

Each task passes a worker, a reviewer and the finisher. One task is sent back by its reviewer and one fails verify; both are
fixed. The coordinator is replaced once while alive and once after a SIGKILL. One agent's context fills up, and a successor
continues. One agent hits a usage limit, and all agents wait for its reset. At the end every task is merged once, the operations
record how, and nothing is left over.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.demo.show import leftovers
from fleet.model.branches import INTEGRATION
from fleet.model.identity import Identity
from fleet.model.results.home import NightResult
from fleet.model.settings.setting_names import HOME_FILE
from fleet.testing.scene import make_repository
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.tasks.show import Filters
from fleet.verbs.views.operations import OperationFilter
from fleet.world.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.results.home import OperationView
    from fleet.model.results.tasks import TaskView

PROJECT = "demo"
AT_ONCE = 5
TASKS = 30
TIME_LIMIT = 1_500.0  # seconds
# The tasks with a mishap: a full context, a usage limit, a merge that fails verify, a review that sends the work back.
FULL, LIMITED, RED, SENT_BACK = "step-03", "step-07", "step-11", "step-02"
CONFIG = f'exit_grace = "2s"\nreport_grace = "1s"\ntick_every = "2s"\ntrust = "always"\n[limits]\nagents = {AT_ONCE}\n'
PROJECT_FILE = 'engine = "scripted"\nautonomy = "edits"\nreview = "agent"\n'
SEATED = Wanted(project=PROJECT, slug=None, kind="coord", engine="fleet")


def graph(tasks: int = TASKS) -> dict[str, list[str]]:
    """Return each task with the earlier tasks that it waits for: one or two, none for the first four.

    So some tasks are always ready, and some always wait.
    """
    names = [f"step-{number:02d}" for number in range(1, tasks + 1)]
    return {name: sorted({names[at // 2], names[at - 4]}) if at > 3 else [] for at, name in enumerate(names)}  # noqa: PLR2004


def script(slug: str) -> str:
    """Return the scripts of a task's agents as one text: its worker's, and those of other agents in a mishap."""
    work = f"write src/{slug}.py value = '{slug}'\nlog wrote src/{slug}.py\ncommit Add {slug}\n"
    blocks = {"": f"{work}done\n"}
    if slug == FULL:
        blocks = {"": f"{work}context 55\nhang\n", " successor": "write src/more.py more\ncommit More\ndone\n"}
    if slug == LIMITED:
        blocks = {"": f"limit 3s\nidle\n{work}done\n"}
    if slug == RED:
        blocks[" fix"] = "write REPAIRED yes\ncommit Repair it\ndone\n"
    if slug == SENT_BACK:
        blocks[" reviewer"] = "verdict-once name it better\ndone\n"
    return "\n".join(f"```script{name}\n{text}```" for name, text in blocks.items())


class Night:
    """The play of `fleet demo --night`: it watches the coordinator work through the tasks, and replaces it twice.

    Making one creates the home and the repository in the folder `root`. `show` is called with the tasks that are not
    archived, and with a line for each event so far. `store` is the setting of that name, by default SQLite.
    """

    def __init__(
        self, root: str, show: Callable[[list[TaskView], list[str]], None], *, store: str = "", tasks: int = TASKS
    ) -> None:
        self._home, self._repository = f"{root}/home", f"{root}/repository"
        make_repository(self._repository)
        os.makedirs(self._home, mode=0o700, exist_ok=True)
        named = f'store = "{store}"\n' if store else ""
        Path(self._home, HOME_FILE).write_text(named + CONFIG, encoding="utf-8")
        verify = f"! test -e src/{RED}.py || test -e REPAIRED"
        Path(self._repository, "fleet.toml").write_text(f'{PROJECT_FILE}verify = "{verify}"\n', encoding="utf-8")
        self._show = show
        self._clock = Clock()
        self._events: list[str] = []
        self._graph = graph(tasks)
        self.result = NightResult(
            merged=0, replacements=[], handed_off=[], paused=[], mended=[], faults=[], leaked=[], seconds=0.0
        )

    def run(self) -> NightResult:
        """Add the tasks, start the coordinator, and watch until every task is merged or 25 minutes are over.

        Stop the coordinator, sweep, and return the result.
        """
        started = self._clock.ticks()
        with Fleet.open(self._home, actor="demo") as fleet:
            fleet.projects.register(self._repository, PROJECT)
            for slug, after in self._graph.items():
                title = f"Do {slug}"
                fleet.tasks.add(project=PROJECT, title=title, slug=slug, after=tuple(after), description=script(slug))
            self._add_event(f"{fleet.coord.start(SEATED).id} coordinates")
            while self.result.merged < len(self._graph) and self._clock.ticks() - started < TIME_LIMIT:
                self._step(fleet)
            self._record_results(fleet)
        self.result.seconds = self._clock.ticks() - started
        return self.result

    def _step(self, fleet: Fleet) -> None:
        """Count the merged tasks, replace the coordinator when it is time, and show the state.

        The coordinator is replaced alive after a quarter of the tasks, and killed and replaced after half of them.
        """
        tasks = list(fleet.tasks.list(project=PROJECT, filters=Filters(archived=True)))
        self.result.merged = sum(task.status == "done" and task.archived for task in tasks)
        if self.result.merged >= len(self._graph) // 4 and not self.result.replacements:
            self._replace_alive(fleet)
        if self.result.merged >= len(self._graph) // 2 and len(self.result.replacements) == 1:
            self._replace_killed(fleet)
        self._show([task for task in tasks if not task.archived], self._events)
        self._clock.wait(0.3)

    def _replace_alive(self, fleet: Fleet) -> None:
        """Replace the living coordinator by a new one, and record that."""
        old = fleet.coord.show(PROJECT).holder
        new = self._retry(lambda: fleet.coord.replace(SEATED).id)
        self.result.replacements.append(f"{old} by {new}, alive")
        self._add_event(f"{new} replaced the coordinator {old}, which was alive")

    def _replace_killed(self, fleet: Fleet) -> None:
        """Kill the coordinator with SIGKILL, start another, and record that; do nothing before it is launched."""
        old = fleet.coord.show(PROJECT).holder
        process = Identity.parse(fleet.context.dispatch(old or "").process or "")
        if process is None:
            return
        fleet.world.processes.signal(process, signal.SIGKILL)
        fleet.world.processes.gone_within([process], 10)
        self._add_event(f"the coordinator {old} was killed -9")
        new = self._retry(lambda: fleet.coord.start(SEATED).id)
        self.result.replacements.append(f"{old} by {new}, killed")
        self._add_event(f"{new} coordinates")

    def _retry(self, act: Callable[[], str]) -> str:
        """Call `act` until it succeeds, and return its result; after ten seconds, raise its last FleetError.

        After a coordinator was killed, fleet refuses to start another until tmux has reported the death.
        """
        for _ in range(50):
            try:
                return act()
            except errors.FleetError as error:
                last = error
                self._clock.wait(0.2)
        raise last

    def _record_results(self, fleet: Fleet) -> None:
        """Record handoffs, pauses, fixes and faults; stop the coordinator, sweep, and record what is left over."""
        self.result.handed_off = [f"{each.dispatch} to {each.successor}" for each in fleet.coord.handoffs(PROJECT)]
        operations = list(fleet.operations.list(OperationFilter(project=PROJECT), limit=100_000))
        self.result.paused = [each.why for each in operations if each.what.get("held")]
        self.result.mended = [
            each.why for each in operations if "(fix of" in each.why and each.why.startswith("dispatch")
        ]
        self.result.faults = [*self._not_merged_once(), *_missing_records(self._graph, operations)]
        fleet.coord.stop(PROJECT, "the night is over")
        for _ in range(50):  # the last merge may still be releasing its worktree
            fleet.sweep.run(kill=True)
            self.result.leaked = leftovers(fleet)
            if not self.result.leaked:
                break
            self._clock.wait(0.2)

    def _not_merged_once(self) -> list[str]:
        """Return a line for each task that git does not show as merged exactly once."""
        words = ["git", "log", "--merges", "--format=%s", INTEGRATION]
        subjects = subprocess.run(
            words, cwd=self._repository, check=True, capture_output=True, text=True
        ).stdout.splitlines()
        counts = {slug: subjects.count(f"Merge {slug}") for slug in self._graph}
        return [f"{slug} was merged {count} times" for slug, count in counts.items() if count != 1]

    def _add_event(self, event: str) -> None:
        self._events.append(event)


def _missing_records(slugs: dict[str, list[str]], operations: list[OperationView]) -> list[str]:
    """Return a line for each worker, reviewer and merge that the operations of one of these tasks do not record."""
    missing = []
    for slug in slugs:
        whys = " ".join(each.why for each in operations if each.slug == slug)
        missing += [
            f"{slug}: nothing tells of its {what}" for what in ("worker", "reviewer", "is merged") if what not in whys
        ]
    return missing
