"""A simulated scene for each test of a verb."""

from collections.abc import Iterator

import pytest

from fleet.testing.simulated import SimulatedScene


@pytest.fixture
def scene() -> Iterator[SimulatedScene]:
    with SimulatedScene() as made:
        yield made
