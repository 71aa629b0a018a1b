"""A walk through the states of a task over the simulated world: how a state is reached, and what its next step does.

The states are generated: stages from the pipeline, ends of attempts from the steps of a dispatch, a person's commands from the
steps of a task, each with every state of the branch and of the worktree.
"""

import itertools
import random
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from fleet.api.fleet import Fleet
from fleet.errors.families import FleetError, Refused
from fleet.model.branches import task_ref
from fleet.model.dispatch.steps import REPORTS
from fleet.model.results.tasks import NextStep, TaskDetails
from fleet.model.tasks.pipeline import KIND_AT
from fleet.model.tasks.steps import EVENTS, STEPS
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.home import paths

TASK = {"project": PROJECT, "slug": "a"}
STAGES = tuple(KIND_AT)
BRANCHES = ("there", "gone", "moved")
TREES = ("there", "gone", "dirty", "other branch", "no branch")
ENDS = (
    "",
    "never launched",
    *(f"report {report}" for report in REPORTS),
    *(f"exit {status}" for status in (0, 3)),
    *("stop", "kill", "reboot"),
)
OTHERS = ("resume", "task retry", "dispatch", "send back", "merge")
# A task goes through a few states, and none of them twice, until an agent works on it or it is done.
MOST_STEPS = 9


class Scenario(NamedTuple):
    """How a state is reached; `other` is a command that is tried before the one that is named."""

    stage: str
    end: str
    event: str
    branch: str
    tree: str
    other: str


def every_scenario() -> Iterator[Scenario]:
    """Each stage with each end of an attempt, and with each command of a person; each with each branch and worktree."""
    others = itertools.cycle(OTHERS)
    places = list(itertools.product(BRANCHES, TREES))
    for stage, (branch, tree) in itertools.product(STAGES, places):
        for end in ENDS:
            yield Scenario(stage, end, "", branch, tree, next(others))
        for event in EVENTS:
            yield Scenario(stage, "", event, branch, tree, next(others))


def some_scenario(chance: random.Random) -> Scenario:
    """Return any scenario, also one with an end and a command."""
    kinds = (STAGES, ENDS, ("", *EVENTS), BRANCHES, TREES, OTHERS)
    return Scenario(*(chance.choice(kind) for kind in kinds))


class Walk:
    """One task and what happens to it."""

    def __init__(self, scene: SimulatedScene, run: Callable[[list[str]], tuple[int, str]]) -> None:
        self.scene = scene
        self.run = run
        self.tree = Path(scene.home, paths.worktree(PROJECT, "a"))

    @property
    def fleet(self) -> Fleet:
        return self.scene.fleet

    def task(self) -> TaskDetails:
        return self.fleet.tasks.show(**TASK)

    # how a state is reached -------------------------------------------------------------------------------------------
    def reach(self, scenario: Scenario) -> None:
        """Bring the task to the stage, end an attempt there, let a person act, and change branch and worktree."""
        self._reach_stage(scenario.stage)
        self.scene.clock.wait(1)
        if scenario.end and scenario.stage != "finisher":
            self._attempt(scenario.end)
        self._act(scenario.event)
        self._change_tree(scenario.tree)
        self._change_branch(scenario.branch)

    def _reach_stage(self, stage: str) -> None:
        self.fleet.tasks.add(project=PROJECT, title="a", slug="a")
        if stage == "worker":
            return
        if stage == "rebase":
            self._merge_another()
        self._finish(self.start())
        if stage == "review":
            return
        if stage == "fix":
            self.fleet.reviews.judge(**TASK, verdict="send back", comments="smaller")
            return
        self.fleet.reviews.judge(**TASK, verdict="accept")
        if stage == "rebase":
            refused(lambda: self.fleet.merge.task(**TASK))
        assert self.task().stage == stage

    def _merge_another(self) -> None:
        """Merge a task whose work is in conflict with this one, which has begun before."""
        ident = self.scene.work("b")
        self.scene.commit("b", text="other\n")
        self.scene.report(ident, "b")
        self._settle(ident)
        self._started = self.start()
        self.fleet.reviews.judge(project=PROJECT, slug="b", verdict="accept")
        self.fleet.merge.task(project=PROJECT, slug="b")

    def start(self) -> str:
        """Start and launch the agent that the task's stage needs, unless it was started before."""
        if (begun := self.__dict__.pop("_started", None)) is not None:
            return str(begun)
        wanted = Wanted(**TASK, engine="shell", command=("sleep", "1000"))
        self.scene.clock.wait(1)
        ident = self.fleet.dispatches.start(wanted).id
        self.scene.launch(ident)
        return ident

    def _finish(self, ident: str) -> None:
        self.scene.commit("a")
        self.scene.report(ident, "a")
        self._settle(ident)

    def _settle(self, ident: str, status: int = 0) -> None:
        self.scene.exit(ident, status)
        self.fleet.sessions.settle(ident)

    def _attempt(self, end: str) -> None:
        """Start an agent at the task's stage, and end it so."""
        verb, _, word = end.partition(" ")
        if verb == "never":
            self.scene.dispatch("a")
            self.scene.reboot()
            self.fleet.sweep.run(kill=True)
            return
        ident = self.start()
        if verb == "report":
            self._report(ident, word)
        elif verb == "reboot":
            self.scene.reboot()
            self.fleet.sweep.run(kill=True)
        elif verb == "exit":
            self._settle(ident, int(word))
        elif verb == "stop":
            self.fleet.dispatches.stop(ident)
        else:
            self.fleet.dispatches.kill(ident, "enough")

    def _report(self, ident: str, report: str) -> None:
        with self.scene.speaking(ident) as fleet:
            if report == "done":
                fleet.tasks.done(**TASK)
            elif report == "failed":
                fleet.tasks.fail(**TASK, reason="no")
            else:
                fleet.tasks.block(**TASK, reason="which one?")
        self._settle(ident)

    def _act(self, event: str) -> None:
        """Let a person do what the table of steps allows now."""
        if not event or (self.task().status, event) not in STEPS:
            return
        act = getattr(self.fleet.tasks, event)
        more = {"reason": "so"} if event in {"fail", "block", "abandon"} else {}
        more |= {} if event == "retry" else {"override": True}
        refused(lambda: act(**TASK, **more))

    def _change_tree(self, tree: str) -> None:
        if tree == "there" or not self.tree.exists():
            return
        if tree == "gone":
            shutil.rmtree(self.tree)
        elif tree == "dirty":
            (self.tree / "dirty.txt").write_text("dirty\n")
        else:
            where = ["--detach"] if tree == "no branch" else ["-b", "elsewhere"]
            self.scene.git("checkout", "--quiet", *where, cwd=str(self.tree))
            self.scene.git("commit", "--quiet", "--allow-empty", "--message=elsewhere", cwd=str(self.tree))

    def _change_branch(self, branch: str) -> None:
        ref = task_ref("a")
        if branch == "there" or self.scene.git("for-each-ref", ref) == "":
            return
        if branch == "gone":
            self.scene.git("update-ref", "-d", ref)
        else:
            tree = self.scene.git("rev-parse", f"{ref}^{{tree}}")
            self.scene.git("update-ref", ref, self.scene.git("commit-tree", tree, "-p", ref, "-m", "moved"))

    # what the state leads to ------------------------------------------------------------------------------------------
    def signature(self) -> tuple[object, ...]:
        """What is to change by a step."""
        task = self.task()
        tips = self.scene.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads")
        head = self.scene.git("rev-parse", "--abbrev-ref", "HEAD", cwd=str(self.tree)) if self.is_tree() else ""
        work = self.fleet.reviews.work(**TASK).reported
        return task.status, task.stage, task.paused, task.reason, work, self.named().command, tips, head

    def is_tree(self) -> bool:
        words = ["git", "-C", str(self.tree), "rev-parse", "--verify", "--quiet", "HEAD"]
        return self.tree.exists() and subprocess.run(words, capture_output=True, check=False).returncode == 0

    def named(self) -> NextStep:
        """The next step that every view names."""
        step, why = self.task().next_step, self.fleet.tasks.why(**TASK).next_step
        assert step is not None
        assert step == why
        page = self.fleet.views.status()
        for task in (each for each in (*page.failed, *page.parked) if each.slug == "a"):
            assert task.next_step == step
        return step

    def try_other(self, other: str) -> None:
        """Try a command that may be refused: its refusal names the next step."""
        acts: dict[str, Callable[[], object]] = {
            "resume": lambda: self.fleet.dispatches.resume("a", project=PROJECT),
            "task retry": lambda: self.fleet.tasks.retry(**TASK),
            "dispatch": self.start,
            "send back": lambda: self.fleet.reviews.judge(**TASK, verdict="send back", comments="no"),
            "merge": lambda: self.fleet.merge.task(**TASK),
        }
        error, step = refused(acts[other]), self.named()
        if isinstance(error, Refused) and step.command is not None:
            assert step.command in error.next_step, (other, error.spoken)

    def is_over(self) -> bool:
        """Whether an agent works on the task, or nothing is left to do."""
        task = self.task()
        busy = self.fleet.dispatches.list(ended=False)
        return bool(busy) or task.archived or task.status in {"done", "abandoned"}

    def follow(self) -> None:
        """Run the command that is named, until an agent works on the task or it is done."""
        seen: list[tuple[object, ...]] = []
        for _ in range(MOST_STEPS):
            if self.is_over():
                return
            self.scene.clock.wait(1)
            now, step = self.signature(), self.named()
            assert now not in seen, ("the same dead end", *seen, now)
            seen.append(now)
            task = self.task()
            if step.command is None:
                assert task.status not in {"blocked", "failed"}, (task.status, task.stage, step)
                return
            self._run(step.command)
        raise AssertionError(("no end", *seen))

    def _run(self, command: str) -> None:
        words = shlex.split(command)
        if words[0] == "git":
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            assert done.returncode == 0, (command, done.stderr)
            return
        if words[1] == "review":
            self.fleet.reviews.judge(**TASK, verdict="accept", commit=self.fleet.reviews.work(**TASK).commit)
            return
        before = self.task().changed_at, self.signature()
        code, said = self.run(
            [*words[1:], *(["--engine", "shell", "--", "sleep", "9"] if words[1] == "dispatch" else [])]
        )
        # A merge may find something else to mend: then the task is in another state.
        moved = words[1] == "merge" and (self.task().changed_at, self.signature()) != before
        assert code == 0 or moved, (command, said)


def refused(act: Callable[[], object]) -> FleetError | None:
    """Do something; return the refusal, None when it was done."""
    try:
        act()
    except FleetError as error:
        return error
    return None
