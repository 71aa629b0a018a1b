"""Show where the time of one `fleet log` goes: imports by group, opening the store, the transaction, closing the store."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from benchmarks.processes import BARE, FLEET, PYTHON, environment, output_of, seconds_of
from benchmarks.scene import AGENT, PROJECT
from benchmarks.table import Table, ms, times
from benchmarks.timing import Sample

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LOG = ("log", "parser done, 40 tests green")
GROUPS = ("errors", "model", "world", "store", "verbs", "api", "surfaces")
# The steps of `fleet log`, timed where they happen.
STEPS = """
from time import perf_counter as now
marks = [now()]
from fleet import bundle
bundle.use()
from fleet.surfaces.cli.hot.start import groups_of
for group in groups_of(["log"]):
    bundle.BUNDLE.load(group)
from fleet.surfaces.cli import entry
from fleet.surfaces.cli.hot import fast
marks.append(now())
fleet = fast.Fleet.open()
marks.append(now())
fleet.tasks.log(project=fleet.project_here(), slug=fleet.task_here("log"), message="parser done, 40 tests green")
marks.append(now())
fleet.close()
marks.append(now())
print(*marks)
"""
NAMES = ("imports", "opening the store", "the transaction, synced", "closing the store")


def of_log(home: Path, *, rounds: int) -> Table:
    """Return a table of the steps of `fleet log`: medians over fresh processes."""
    env = environment(FLEET_HOME=str(home), FLEET_PROJECT=PROJECT, FLEET_TASK="log-0", FLEET_DISPATCH_ID=AGENT)
    steps: dict[str, list[float]] = defaultdict(list)
    groups: dict[str, list[float]] = defaultdict(list)
    wholes: dict[str, list[float]] = defaultdict(list)
    for _ in range(rounds):
        marks = [float(word) for word in output_of([PYTHON, "-c", STEPS], env).split()]
        for name, start, end in zip(NAMES, marks, marks[1:], strict=False):
            steps[name].append(end - start)
        for name, seconds in _imports(LOG, env, _group).items():
            groups[name].append(seconds)
        wholes["bare"].append(seconds_of(BARE, env))
        wholes["whole"].append(seconds_of([FLEET, *LOG], env))
    table = Table("start: where the time of `log` goes", ("step", "ms", "× bare"), [f"{rounds} fresh processes"])
    _fill_table(table, _medians(steps), _medians(groups), **_medians(wholes))
    return table


def _fill_table(table: Table, steps: dict[str, float], groups: dict[str, float], *, whole: float, bare: float) -> None:
    """Fill the table with the steps, their groups of imports, and the rest of the whole time."""
    rest = whole - bare - sum(steps.values())
    parts = {"bare interpreter": bare} | steps | {"launcher, words, output, less a shorter goodbye": rest}
    for name, seconds in (parts | {"whole": whole}).items():
        table.add(name, ms(seconds), times(seconds / bare))
        if name == "imports":
            for group in sorted(groups, key=lambda each: -groups[each]):
                table.add(f"  {group}", ms(groups[group]), times(groups[group] / bare))
    table.notes.append(
        "the parts of the imports are the `self` times of -X importtime, which does not see what a bundle's group loads"
    )


def of_imports(home: Path, title: str, words: tuple[str, ...], *, bare: float, most: int = 10) -> Table:
    """Return a table of the packages, at most `most`, on whose imports a command spends most time.

    `title` is the command's name in the table, `bare` how many seconds a bare interpreter takes.
    """
    env = environment(FLEET_HOME=str(home))
    found: dict[str, list[float]] = defaultdict(list)
    for _ in range(5):
        for name, seconds in _imports(words, env, _package).items():
            found[name].append(seconds)
    costs = _medians(found)
    table = Table(f"start: what `{title}` imports", ("package", "ms", "× bare"), ["`self` times of -X importtime"])
    for name in sorted(costs, key=lambda each: -costs[each])[:most]:
        table.add(name, ms(costs[name]), times(costs[name] / bare))
    table.add("everything", ms(sum(costs.values())), times(sum(costs.values()) / bare))
    return table


def _imports(words: tuple[str, ...], env: dict[str, str], group: Callable[[str], str]) -> dict[str, float]:
    """Return the seconds of the imports that a bare interpreter does not make, by what `group` returns for a module."""
    known = set(_import_seconds(BARE[1:], env))
    found: dict[str, float] = defaultdict(float)
    for name, seconds in _import_seconds([FLEET, *words], env).items():
        if name not in known:
            found[group(name)] += seconds
    return found


def _import_seconds(words: list[str], env: dict[str, str]) -> dict[str, float]:
    """Return the seconds of each import of a command, by module, from Python's -X importtime."""
    said = output_of([PYTHON, "-X", "importtime", *words], env, errors=True)
    rows = [line.removeprefix("import time:").split("|") for line in said.splitlines() if "|" in line]
    return {name.strip(): int(own) / 1e6 for own, _, name in rows if own.strip().isdigit()}


def _group(module: str) -> str:
    """Return the name of a module's group: a layer of fleet, `fleet` for the rest of fleet, or one for Python's."""
    package, _, rest = module.partition(".")
    part = rest.partition(".")[0]
    if package != "fleet":
        return "C modules and __future__"
    return f"fleet.{part}" if part in GROUPS else "fleet"


def _package(module: str) -> str:
    return module.partition(".")[0]


def _medians(found: dict[str, list[float]]) -> dict[str, float]:
    return {name: Sample(values).median for name, values in found.items()}
