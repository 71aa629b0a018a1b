"""A stage for each test of coordinating; with engines of its own that do what a test's shell script says."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from live.coord.seats import ENGINES
from staging.fixtures import Once
from staging.stage import Stage


def made(store: str) -> Stage:
    stage = Stage(store=store, settings='tick_every = "1s"\n')
    Path(stage.home, "engines").mkdir()
    for name, text in ENGINES.items():
        Path(stage.home, "engines", f"{name}.toml").write_text(text)
    return stage


@pytest.fixture
def scene(tmux: None) -> Iterator[Stage]:
    """On SQLite: what is tested is outside the store."""
    stage = made("sqlite")
    yield stage
    stage.end()


@pytest.fixture
def either(store_url: str, tmux: None) -> Iterator[Stage]:
    """On each kind of store."""
    stage = made(store_url)
    yield stage
    stage.end()


@pytest.fixture
def once() -> type[Once]:
    return Once
