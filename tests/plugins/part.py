"""Of the tests with agents that run on both stores, a whole run takes a third on PostgreSQL, another third each time.

All of them take half an hour. Each runs on SQLite, and every row that they show on PostgreSQL is shown there by at least one of
them. FLEET_TESTS_PART repeats a part; `make whole` (FLEET_EVERY_TEST) runs all, and so does naming files or tests.
"""

import os
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from plugins.recording import store_of

VARIABLE, EVERY = "FLEET_TESTS_PART", "FLEET_EVERY_TEST"
FOLDER = "tests/live/"
WHAT = "tests with agents"
OF = 3


@dataclass(frozen=True)
class Candidate:
    """A test that may be left out."""

    ident: str
    rows: frozenset[str]

    @property
    def file(self) -> str:
        return self.ident.partition("::")[0]


def taken(candidates: list[Candidate], shown: set[str], seed: str) -> set[str]:
    """Return the ids of the tests to run: a third of each file, and for each row that no other test has shown at least one."""
    order = random.Random(seed).sample(sorted(candidates, key=lambda test: test.ident), len(candidates))
    files = defaultdict(list)
    for test in order:
        files[test.file].append(test)
    chosen = {test for tests in files.values() for test in tests[: -(-len(tests) // OF)]}
    shown = shown.union(*(test.rows for test in chosen))
    for test in order:
        if test.rows - shown:
            chosen.add(test)
            shown |= test.rows
    return {test.ident for test in chosen}


def is_whole_run(config: pytest.Config) -> bool:
    """Whether nobody has chosen files, tests or words."""
    from_testpaths = config.args_source == pytest.Config.ArgsSource.TESTPATHS
    option = config.option
    return from_testpaths and not (option.keyword or option.markexpr or option.quick or option.collectonly)


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        seed = config.workerinput.get("part")
    else:
        seed = os.environ.get(VARIABLE, str(random.randrange(1_000_000))) if is_whole_run(config) else None
    if seed and EVERY not in os.environ:
        config.pluginmanager.register(Part(seed), "fleet-part")


class Part:
    """Leaves tests out, and says how to repeat it."""

    def __init__(self, seed: str) -> None:
        self.seed = seed

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line(f"{WHAT}: one in {OF} on PostgreSQL, repeated by {VARIABLE}={self.seed}")

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node) -> None:
        node.workerinput["part"] = self.seed

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        on_postgres = [item for item in items if store_of(item) == "postgres"]
        candidates = [
            Candidate(item.nodeid, frozenset(rows_of(item))) for item in on_postgres if item.nodeid.startswith(FOLDER)
        ]
        may_go = {test.ident for test in candidates}
        shown = {row for item in on_postgres if item.nodeid not in may_go for row in rows_of(item)}
        stay = taken(candidates, shown, self.seed)
        say_part(items, stay, len(may_go))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in may_go - stay])
        items[:] = [item for item in items if item.nodeid not in may_go - stay]


def rows_of(item: pytest.Item) -> Iterator[str]:
    return (row for marker in item.iter_markers("req") for row in marker.args)


def say_part(items: list[pytest.Item], stay: set[str], whole: int) -> None:
    """Note at each test that stays how many there are in all. `make conformance` counts those that ran."""
    for item in items:
        if item.nodeid in stay:
            item.user_properties.append(("sample", {"what": WHAT, "ran": 1, "of": whole}))
