"""A simulated scene for each test of a verb."""

from collections.abc import Iterator

import pytest

from fleet.testing.simulated import SimulatedScene


@pytest.fixture
def scene() -> Iterator[SimulatedScene]:
    with SimulatedScene() as made:
        yield made


@pytest.fixture
def each_store(store_url: str) -> Iterator[SimulatedScene]:
    """A scene on each kind of store."""
    with SimulatedScene(settings=f'store = "{store_url}"\n') as made:
        yield made
