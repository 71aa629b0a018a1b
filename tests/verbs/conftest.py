"""A simulated scene for each test of a verb."""

from collections.abc import Iterator

import pytest

from fleet.testing.simulated import SimulatedScene


@pytest.fixture
def scene() -> Iterator[SimulatedScene]:
    with SimulatedScene() as made:
        yield made


@pytest.fixture
def either(store_url: str) -> Iterator[SimulatedScene]:
    """On each kind of store."""
    with SimulatedScene(settings=f'store = "{store_url}"\n') as made:
        yield made
