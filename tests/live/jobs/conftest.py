"""A stage for each test, on one store or on each."""

from collections.abc import Iterator

import pytest
from live.jobs.stage import JobStage


@pytest.fixture
def scene(tmux: None) -> Iterator[JobStage]:
    """On SQLite: what is tested is outside the store."""
    stage = JobStage()
    yield stage
    stage.end()


@pytest.fixture
def either(store_url: str, tmux: None) -> Iterator[JobStage]:
    """On each kind of store."""
    stage = JobStage(store=store_url)
    yield stage
    stage.end()
