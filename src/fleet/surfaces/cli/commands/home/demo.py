"""The command `fleet demo`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleet.demo import crowd, night, show
from fleet.demo.graph import GRAPH
from fleet.model.branches import INTEGRATION
from fleet.model.settings.setting_names import HOME_FILE
from fleet.surfaces.cli.options import json_option
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.streams import ESCAPE
from fleet.testing.scene import make_repository

if TYPE_CHECKING:
    from fleet.model.results.home import Demonstration, NightResult, Show
    from fleet.model.results.projects import ProjectView
    from fleet.model.results.tasks import TaskView

# Columns for the progress bar of --crowd.
_WIDTH = 40


@click.command("demo")
@click.option(
    "--crowd", is_flag=True, help="instead: fifty processes work through one graph, and nothing they wrote is lost"
)
@click.option(
    "--night",
    is_flag=True,
    help="instead: a coordinator leads thirty tasks through work, review and merge, and is replaced twice",
)
@click.option(
    "--processes", type=click.IntRange(1, 200), default=50, show_default=True, help="with --crowd: how many processes"
)
@click.option(
    "--tasks", type=click.IntRange(10, 10_000), default=200, show_default=True, help="with --crowd: how many tasks"
)
@click.option("--keep", is_flag=True, help="keep the home and the repository, to look at them")
@json_option
def demo(processes: int, tasks: int, **how: bool) -> int:
    """Watch scripted agents work through a graph in real tmux sessions and worktrees, with mishaps on the way.

    One agent is killed, one hangs, one leaves uncommitted work, one dispatcher is killed half-way. At the end everything is
    merged, nothing is lost and nothing is left over. It all happens in a temporary home and repository.

    \b
    Examples:
      fleet demo
      fleet demo --keep
      fleet demo --night
      fleet demo --crowd --processes 20 --tasks 500
    """
    scene = tempfile.mkdtemp(prefix="fleet-demo-", dir="/tmp")
    try:
        if how["crowd"]:
            return _run_crowd(scene, processes, tasks, as_json=how["json"])
        play = _run_night if how["night"] else _run_agents
        return play(scene, as_json=how["json"], keep=how["keep"])
    finally:
        if not how["keep"]:
            shutil.rmtree(scene, ignore_errors=True)


def _run_crowd(scene: str, processes: int, tasks: int, *, as_json: bool) -> int:
    """Run `fleet demo --crowd` in the folder `scene`. Returns exit code 0 if nothing was lost, else 1."""
    repository = Path(scene, "repository")
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    view = _CrowdBar(tasks, quiet=as_json)
    outcome = crowd.run(f"{scene}/home", str(repository), processes=processes, tasks=tasks, show=view)
    if as_json:
        terminal.say_json(outcome)
    else:
        _print_crowd(outcome)
    return 0 if _is_flawless(outcome) else 1


def _run_agents(scene: str, *, as_json: bool, keep: bool) -> int:
    """Run `fleet demo` with scripted agents in the folder `scene`, which the caller removes unless `keep` is set.

    Return exit code 0 if all is merged and nothing leaked, otherwise 1. `keep` only changes the hint printed at the end.
    """
    make_repository(f"{scene}/repository")
    os.mkdir(f"{scene}/home", mode=0o700)
    Path(scene, "home", HOME_FILE).write_text('exit_grace = "1s"\nreport_grace = "5s"\n', encoding="utf-8")
    stage = _LiveView(quiet=as_json)
    result = show.Play(f"{scene}/home", f"{scene}/repository", stage).run()
    flawless = result.merged == len(GRAPH) and not result.leaked
    if as_json:
        terminal.say_json(result)
    else:
        stage.close()
        _print_show(result, scene, keep=keep)
    return 0 if flawless else 1


def _run_night(scene: str, *, as_json: bool, keep: bool) -> int:
    """Run `fleet demo --night` in the folder `scene`. `keep` only changes the hint printed at the end.

    Returns exit code 0 if all is merged, nothing leaked and nothing else went wrong, otherwise 1.
    """
    stage = _LiveView(quiet=as_json, slugs=list(night.graph()))
    result = night.Night(scene, stage).run()
    flawless = result.merged == night.TASKS and not result.leaked and not result.faults
    if as_json:
        terminal.say_json(result)
    else:
        stage.close()
        _print_night(result)
        _say_how_to_look_around(scene, keep=keep)
    return 0 if flawless else 1


def _print_night(result: NightResult) -> None:
    """Print the result of `fleet demo --night`."""
    rows = [("tasks merged", str(result.merged), "each once, by git's word")]
    for name, each in (
        ("coordinator replaced", result.replacements),
        ("handed off", result.handed_off),
        ("waited for a limit", result.paused),
        ("fixed", result.mended),
    ):
        rows += [(name, "", what) for what in each]
    rows += [("wrong", str(len(result.faults)), "; ".join(result.faults))]
    rows += [("leaked", str(len(result.leaked)), "; ".join(result.leaked)), ("seconds", f"{result.seconds:.1f}", "")]
    terminal.say()
    for line in terminal.table(("WHAT", "HOW MANY", ""), rows):
        terminal.say(line)
    verdict = f"{len(result.leaked)} leaked"
    terminal.say(terminal.paint(verdict, "red" if result.leaked or result.faults else "green"))


def _print_show(result: Show, scene: str, *, keep: bool) -> None:
    """Print the result of `fleet demo`."""
    rows = [("tasks done", str(result.done), ""), ("tasks merged", str(result.merged), "each once, by git's word")]
    rows += [("recovered", "", line) for line in result.recovered]
    rows += [("refused", "", line) for line in result.refused]
    rows += [("leaked", str(len(result.leaked)), "; ".join(result.leaked)), ("seconds", f"{result.seconds:.1f}", "")]
    terminal.say()
    for line in terminal.table(("WHAT", "HOW MANY", ""), rows):
        terminal.say(line)
    verdict = f"{len(result.leaked)} leaked"
    terminal.say(terminal.paint(verdict, "red" if result.leaked else "green"))
    _say_how_to_look_around(scene, keep=keep)


def _say_how_to_look_around(scene: str, *, keep: bool) -> None:
    """Print how to look at the demonstration's home and repository, which --keep leaves in place."""
    if keep:
        terminal.say(
            f"look around: export FLEET_HOME={scene}/home; cd {scene}/repository; fleet status; fleet ops; git log --graph {INTEGRATION}"
        )
    else:
        terminal.say("look around: fleet demo --keep leaves the home and the repository for you")


class _LiveView:
    """Shows the tasks with their states and the last events, redrawn in place.

    In a pipe it prints only events, one per line; with `quiet`, nothing. `slugs` are the tasks to show, by default
    those of the graph of `fleet demo`.
    """

    def __init__(self, *, quiet: bool, slugs: list[str] | None = None) -> None:
        self._quiet = quiet
        self._slugs = slugs or list(GRAPH)
        self._live = sys.stdout.isatty() and not quiet
        self._height = 0
        self._printed = 0

    def __call__(self, tasks: list[TaskView], events: list[str]) -> None:
        """Redraw the view with these tasks and all events so far; in a pipe, print the events that are new."""
        if self._live:
            self._draw(tasks, events)
            return
        for event in () if self._quiet else events[self._printed :]:
            terminal.say(event)
        self._printed = len(events)
        sys.stdout.flush()

    def close(self) -> None:
        """Leave the last drawing as it is: output that follows appears below it."""
        self._height = 0

    def _draw(self, tasks: list[TaskView], events: list[str]) -> None:
        """Draw the tasks and the last six events over the previous drawing."""
        shown = {task.slug: task.state for task in tasks}
        lines = [f"  {terminal.state(shown.get(slug, 'done')):<28} {slug}" for slug in self._slugs]
        lines += ["", *(f"  {terminal.paint(terminal.shortened(event, 110), 'dim')}" for event in events[-6:])]
        back = f"{ESCAPE}[{self._height}A{ESCAPE}[J" if self._height else ""
        sys.stdout.write(back + "\n".join(lines) + "\n")
        sys.stdout.flush()
        self._height = len(lines)


class _CrowdBar:
    """The progress bar of `fleet demo --crowd`: how many tasks are done, in progress and ready."""

    def __init__(self, tasks: int, *, quiet: bool) -> None:
        self._tasks = tasks
        self._live = sys.stdout.isatty() and not quiet

    def __call__(self, project: ProjectView) -> None:
        """Redraw the bar with the project's counts; do nothing in a pipe, or with `quiet`."""
        if not self._live:
            return
        count = project.tasks
        done, working = (n * _WIDTH // self._tasks for n in (count.done, count.in_progress))
        bar = terminal.paint("█" * done, "blue") + terminal.paint("▓" * max(working, 0), "cyan")
        rest = "░" * (_WIDTH - done - working)
        counts = f"{count.done:>4} done  {count.in_progress:>3} working  {project.ready:>3} ready"
        sys.stdout.write(f"{ESCAPE}[G{ESCAPE}[K{bar}{rest}  {counts}")
        sys.stdout.flush()


def _is_flawless(outcome: Demonstration) -> bool:
    """Whether `fleet demo --crowd` finished all tasks, with no failed process and no lost message."""
    return outcome.failed_processes == 0 and outcome.done == outcome.tasks and outcome.acknowledged == outcome.kept


def _print_crowd(outcome: Demonstration) -> None:
    """Print the result of `fleet demo --crowd`."""
    if sys.stdout.isatty():
        terminal.say()
    rows = (
        ("processes at once", str(outcome.processes), f"{outcome.failed_processes} failed"),
        ("tasks done", f"{outcome.done} of {outcome.tasks}", "each by one process"),
        ("claims lost to another", str(outcome.lost_races), "refused, and took the next task"),
        ("messages acknowledged", str(outcome.acknowledged), "written and synced"),
        ("messages kept", str(outcome.kept), f"{outcome.acknowledged - outcome.kept} lost"),
        ("operations", str(outcome.operations), f"{outcome.operations / outcome.seconds:.0f} a second"),
        ("seconds", f"{outcome.seconds:.1f}", ""),
    )
    for line in terminal.table(("WHAT", "HOW MANY", ""), rows):
        terminal.say(line)
    verdict = "nothing was lost" if _is_flawless(outcome) else "something is wrong"
    terminal.say(terminal.paint(verdict, "green" if _is_flawless(outcome) else "red"))


COMMANDS = {"demo": demo}
