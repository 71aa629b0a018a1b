"""A stage for each test of the daemon's duties, and a daemon on it."""

from collections.abc import Iterator

import pytest
from live.duties.daemons import Daemon, add_engines
from staging.stage import Stage


@pytest.fixture
def either(store_url: str, tmux: None) -> Iterator[Stage]:
    """On each kind of store."""
    stage = Stage(store=store_url, settings='tick_every = "1s"\n')
    add_engines(stage)
    yield stage
    stage.end()


@pytest.fixture
def daemon(either: Stage) -> Iterator[Daemon]:
    running = Daemon(either)
    yield running
    if running.lives():
        running.stop()
