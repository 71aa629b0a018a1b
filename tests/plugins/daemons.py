"""The tests of the command line run both ways: without a daemon, and through one.

A whole run takes a part of those about tasks through a daemon, another part each time, and a quick run none; the seed is printed, and
FLEET_TESTS_DAEMON_SEED repeats it. FLEET_TESTS_DAEMON=1 takes all. A test whose subject is a process alone with its files bears `@pytest.mark.alone("why")`.
"""

import os
import random

import pytest
from plugins.samples import last_reports

EVERY, SEED = "FLEET_TESTS_DAEMON", "FLEET_TESTS_DAEMON_SEED"
# One test in so many goes through a daemon.
SHARE = 4
# Of these tests: the commands that change and read tasks.
FOLDER = "/cli/tasks/"
# What becomes of a process alone with a broken, full or moved home.
FOLDER_ALONE = "/cli/homes/"


CHOSEN = pytest.StashKey[tuple[bool, str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "alone(why): this test of the command line is never run through a daemon")
    os.environ.setdefault(SEED, str(random.randrange(1_000_000)))
    # Kept here, because a test sees no variable of fleet.
    config.stash[CHOSEN] = bool(os.environ.get(EVERY)), os.environ[SEED]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """At the end, because a quiet run prints no header."""
    every, seed = config.stash[CHOSEN]
    is_there = any(report.nodeid.startswith(f"tests{FOLDER}") for report in last_reports(terminalreporter))
    if is_there and not config.option.quick:
        part = "all" if every else f"one in {SHARE}, repeated by {SEED}={seed}"
        terminalreporter.write_line(f"tests of the command line through a daemon: {part}")


def is_wanted(request: pytest.FixtureRequest) -> bool:
    """Whether a test of the command line is to go through a daemon in this run."""
    if request.node.get_closest_marker("alone") or FOLDER_ALONE in str(request.path):
        return False
    every, seed = request.config.stash[CHOSEN]
    if every or request.config.option.quick:
        return every
    return FOLDER in str(request.path) and random.Random(f"{seed} {request.node.nodeid}").randrange(SHARE) == 0
