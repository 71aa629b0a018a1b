"""A daemon in front of the home of a test of the command line."""

from collections.abc import Iterator

import pytest
from cli.commandline import CommandLine
from staging.daemon import RunningDaemon


@pytest.fixture
def daemon(either: CommandLine) -> Iterator[RunningDaemon]:
    """A running daemon, on each kind of store. Commands of `either` go through it."""
    with RunningDaemon(either.home) as running:
        either.has_daemon = True
        yield running


@pytest.fixture
def served(fleet: CommandLine) -> Iterator[RunningDaemon]:
    """The same on SQLite: what is tested is outside the store."""
    with RunningDaemon(fleet.home) as running:
        fleet.has_daemon = True
        yield running


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These tests start daemons themselves."""
    for item in items:
        if "/cli/daemon/" in str(item.path):
            item.add_marker(pytest.mark.alone("it starts its daemon itself"))
