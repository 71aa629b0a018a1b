"""A simulated scene for each test of a verb."""

from collections.abc import Iterator

import pytest

from fleet.testing.simulated import SimulatedScene


@pytest.fixture
def scene() -> Iterator[SimulatedScene]:
    with SimulatedScene() as made:
        yield made


@pytest.fixture
def on_store(store_url: str) -> str:
    """The line of config.toml that names the store."""
    return f'store = "{store_url}"\n'


@pytest.fixture
def either(on_store: str) -> Iterator[SimulatedScene]:
    """On each kind of store."""
    with SimulatedScene(settings=on_store) as made:
        yield made
