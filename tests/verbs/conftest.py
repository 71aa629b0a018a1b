"""A simulated scene for each test of a verb. A test of a row that has to be shown on both stores runs on each of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from conformance import DUE, read_due

from fleet.testing.simulated import SimulatedScene

BOTH = {
    row
    for row, stores in read_due((Path(__file__).parents[2] / DUE).read_text().splitlines()).items()
    if stores == "both"
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    rows = {row for marker in metafunc.definition.iter_markers("req") for row in marker.args}
    if "store_url_kind" in metafunc.fixturenames and rows & BOTH:
        metafunc.parametrize("store_url_kind", ["sqlite", "postgres"])


@pytest.fixture
def store_url_kind() -> str:
    return "sqlite"


@pytest.fixture
def on_store(store_url: str) -> str:
    """The line of config.toml that names the store."""
    return f'store = "{store_url}"\n'


@pytest.fixture
def scene(on_store: str) -> Iterator[SimulatedScene]:
    with SimulatedScene(settings=on_store) as made:
        yield made
