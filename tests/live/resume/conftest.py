"""A stage for each test of resuming."""

from collections.abc import Iterator

import pytest
from staging.fixtures import Once
from staging.stage import Stage


@pytest.fixture
def scene(tmux: None) -> Iterator[Stage]:
    """On SQLite: what is tested is outside the store."""
    stage = Stage()
    yield stage
    stage.end()


@pytest.fixture
def either(store_url: str, tmux: None) -> Iterator[Stage]:
    """On each kind of store."""
    stage = Stage(store=store_url)
    yield stage
    stage.end()


@pytest.fixture
def narrow(store_url: str, tmux: None) -> Iterator[Stage]:
    """With room for two agents."""
    stage = Stage(store=store_url, settings="[limits]\nagents = 2\n")
    yield stage
    stage.end()


@pytest.fixture
def once() -> type[Once]:
    return Once
