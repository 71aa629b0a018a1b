"""fleet demo."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fleet.surfaces.cli import terminal
from fleet.surfaces.cli.options import json_option
from fleet.testing import crowd

if TYPE_CHECKING:
    from fleet.testing.crowd import Outcome

_WIDTH = 40


@click.command("demo")
@click.option("--processes", type=click.IntRange(1, 200), default=50, show_default=True, help="how many at once")
@click.option("--tasks", type=click.IntRange(10, 10_000), default=200, show_default=True, help="how many tasks")
@json_option
def demo(processes: int, tasks: int, **given: Any) -> int:
    """Watch fifty real processes work through a graph at once, in a throw-away home.

    Each takes whatever is ready, logs three messages and reports done. At the end what was acknowledged is compared with what
    was kept.

    \b
    Examples:
      fleet demo
      fleet demo --processes 20 --tasks 500
    """
    with tempfile.TemporaryDirectory(prefix="fleet-demo-") as scene:
        repository = Path(scene, "repository")
        subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
        view = _View(tasks, quiet=given["json"])
        outcome = crowd.run(f"{scene}/home", str(repository), processes=processes, tasks=tasks, show=view)
    if given["json"]:
        terminal.say_json(asdict(outcome))
    else:
        _close(outcome)
    return 0 if _whole(outcome) else 1


class _View:
    """One line that changes: how much is done, in progress, ready and waiting."""

    def __init__(self, tasks: int, *, quiet: bool) -> None:
        self._tasks = tasks
        self._live = sys.stdout.isatty() and not quiet

    def __call__(self, project: dict[str, Any]) -> None:
        if not self._live:
            return
        count = project["tasks"]
        done, working = (count[name] * _WIDTH // self._tasks for name in ("done", "in_progress"))
        bar = terminal.paint("█" * done, "blue") + terminal.paint("▓" * max(working, 0), "cyan")
        rest = "░" * (_WIDTH - done - working)
        said = f"{count['done']:>4} done  {count['in_progress']:>3} working  {project['ready']:>3} ready"
        sys.stdout.write(f"\r\033[K{bar}{rest}  {said}")
        sys.stdout.flush()


def _whole(outcome: Outcome) -> bool:
    return outcome.failed_processes == 0 and outcome.done == outcome.tasks and outcome.acknowledged == outcome.kept


def _close(outcome: Outcome) -> None:
    if sys.stdout.isatty():
        terminal.say()
    rows = (
        ("processes at once", str(outcome.processes), f"{outcome.failed_processes} failed"),
        ("tasks done", f"{outcome.done} of {outcome.tasks}", "each by one process"),
        ("claims lost to another", str(outcome.lost_races), "told so, and took the next"),
        ("messages acknowledged", str(outcome.acknowledged), "written and synced"),
        ("messages kept", str(outcome.kept), f"{outcome.acknowledged - outcome.kept} lost"),
        ("operations", str(outcome.operations), f"{outcome.operations / outcome.seconds:.0f} a second"),
        ("seconds", f"{outcome.seconds:.1f}", ""),
    )
    for line in terminal.table(("WHAT", "HOW MANY", ""), rows):
        terminal.say(line)
    verdict = "nothing was lost" if _whole(outcome) else "something is wrong"
    terminal.say(terminal.paint(verdict, "green" if _whole(outcome) else "red"))


COMMANDS = {"demo": demo}
