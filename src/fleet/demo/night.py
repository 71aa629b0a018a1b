"""What `fleet demo --night` plays: a coordinator leads five scripted agents at a time through thirty tasks, and is replaced twice.

Each task passes a worker, a reviewer and the finisher; one is sent back by its reviewer, one has a red verify, and both are mended. The coordinator is replaced once alive and once after a kill -9; one agent's
context runs full, and a successor goes on; one agent hits a limit, and the whole fleet waits for its reset. In the morning every
task is merged once, its history can be told from the operations, and nothing is left.
"""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.demo.show import leftovers
from fleet.model.branches import INTEGRATION
from fleet.model.identity import Identity
from fleet.testing.scene import make_repository
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.tasks.show import Filters
from fleet.verbs.views.operations import Which
from fleet.world.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.results.home import OperationView
    from fleet.model.results.tasks import TaskView

PROJECT = "demo"
AT_ONCE = 5
TASKS = 30
PATIENCE = 1_500.0
FULL, LIMITED, RED, SENT_BACK = "step-03", "step-07", "step-11", "step-02"
CONFIG = f'exit_grace = "2s"\nreport_grace = "1s"\ntick_every = "2s"\ntrust = "always"\n[limits]\nagents = {AT_ONCE}\n'
PROJECT_FILE = 'engine = "scripted"\nautonomy = "edits"\nreview = "agent"\n'
SEATED = Wanted(project=PROJECT, slug=None, kind="coord", engine="fleet")


@dataclass(slots=True)
class Morning:
    """How it went."""

    merged: int = 0
    replaced: list[str] = field(default_factory=list)
    handed_off: list[str] = field(default_factory=list)
    paused: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)
    seconds: float = 0.0


def graph(tasks: int = TASKS) -> dict[str, list[str]]:
    """Each step after two earlier ones, so that there is always something ready and always something waiting."""
    names = [f"step-{number:02d}" for number in range(1, tasks + 1)]
    return {name: sorted({names[at // 2], names[at - 4]}) if at > 3 else [] for at, name in enumerate(names)}  # noqa: PLR2004


def script(slug: str) -> str:
    """What the agents of a task do."""
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
    """The play: the coordinator works, we only look, and bring bad luck."""

    def __init__(
        self, root: str, show: Callable[[list[TaskView], list[str]], None], *, store: str = "", tasks: int = TASKS
    ) -> None:
        self._home, self._repository = f"{root}/home", f"{root}/repository"
        make_repository(self._repository)
        os.makedirs(self._home, mode=0o700, exist_ok=True)
        named = f'store = "{store}"\n' if store else ""
        Path(self._home, "config.toml").write_text(named + CONFIG, encoding="utf-8")
        verify = f"! test -e src/{RED}.py || test -e REPAIRED"
        Path(self._repository, "fleet.toml").write_text(f'{PROJECT_FILE}verify = "{verify}"\n', encoding="utf-8")
        self._show = show
        self._clock = Clock()
        self._events: list[str] = []
        self._graph = graph(tasks)
        self.result = Morning()

    def run(self) -> Morning:
        """Until every task is merged, or patience runs out."""
        started = self._clock.ticks()
        with Fleet.open(self._home, actor="demo") as fleet:
            fleet.projects.register(self._repository, PROJECT)
            for slug, after in self._graph.items():
                title = f"Do {slug}"
                fleet.tasks.add(project=PROJECT, title=title, slug=slug, after=tuple(after), description=script(slug))
            self._tell(f"{fleet.coord.start(SEATED).id} coordinates")
            while self.result.merged < len(self._graph) and self._clock.ticks() - started < PATIENCE:
                self._step(fleet)
            self._close(fleet)
        self.result.seconds = self._clock.ticks() - started
        return self.result

    def _step(self, fleet: Fleet) -> None:
        everything = list(fleet.tasks.list(project=PROJECT, filters=Filters(archived=True)))
        self.result.merged = sum(task.status == "done" and task.archived for task in everything)
        if self.result.merged >= len(self._graph) // 4 and not self.result.replaced:
            self._replace_alive(fleet)
        if self.result.merged >= len(self._graph) // 2 and len(self.result.replaced) == 1:
            self._replace_killed(fleet)
        self._show([task for task in everything if not task.archived], self._events)
        self._clock.wait(0.3)

    def _replace_alive(self, fleet: Fleet) -> None:
        old = fleet.coord.show(PROJECT).holder
        new = self._patiently(lambda: fleet.coord.replace(SEATED).id)
        self.result.replaced.append(f"{old} by {new}, alive")
        self._tell(f"{new} replaced the coordinator {old}, which was alive")

    def _replace_killed(self, fleet: Fleet) -> None:
        old = fleet.coord.show(PROJECT).holder
        process = Identity.parse(fleet.context.dispatch(old or "").process or "")
        if process is None:
            return
        fleet.world.processes.signal(process, signal.SIGKILL)
        fleet.world.processes.gone_within([process], 10)
        self._tell(f"the coordinator {old} was killed -9")
        new = self._patiently(lambda: fleet.coord.start(SEATED).id)
        self.result.replaced.append(f"{old} by {new}, killed")
        self._tell(f"{new} coordinates")

    def _patiently(self, act: Callable[[], str]) -> str:
        """Tmux tells of a death a moment later: until then the dead one vetoes. A candidate may be too slow to prove itself."""
        for _ in range(50):
            try:
                return act()
            except errors.FleetError as error:
                last = error
                self._clock.wait(0.2)
        raise last

    def _close(self, fleet: Fleet) -> None:
        self.result.handed_off = [f"{each.dispatch} to {each.successor}" for each in fleet.coord.handoffs(PROJECT)]
        operations = list(fleet.operations.list(Which(project=PROJECT), limit=100_000))
        self.result.paused = [each.why for each in operations if each.what.get("held")]
        self.result.mended = [
            each.why for each in operations if "(fix of" in each.why and each.why.startswith("dispatch")
        ]
        self.result.faults = [*self._merged_otherwise(), *_unrecorded(self._graph, operations)]
        fleet.coord.stop(PROJECT, "the night is over")
        for _ in range(50):  # whoever merged last may still be letting its tree go
            fleet.sweep.run(kill=True)
            self.result.leaked = leftovers(fleet)
            if not self.result.leaked:
                break
            self._clock.wait(0.2)

    def _merged_otherwise(self) -> list[str]:
        """Tasks that git does not say to be merged exactly once."""
        words = ["git", "log", "--merges", "--format=%s", INTEGRATION]
        said = subprocess.run(
            words, cwd=self._repository, check=True, capture_output=True, text=True
        ).stdout.splitlines()
        counts = {slug: said.count(f"Merge {slug}") for slug in self._graph}
        return [f"{slug} was merged {count} times" for slug, count in counts.items() if count != 1]

    def _tell(self, event: str) -> None:
        self._events.append(event)


def _unrecorded(slugs: dict[str, list[str]], operations: list[OperationView]) -> list[str]:
    """Tasks whose operations do not say who worked on them, who reviewed them, or how they were merged."""
    missing = []
    for slug in slugs:
        whys = " ".join(each.why for each in operations if each.slug == slug)
        missing += [
            f"{slug}: nothing tells of its {what}" for what in ("worker", "reviewer", "is merged") if what not in whys
        ]
    return missing
