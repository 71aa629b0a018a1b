"""The bench on which the tables of steps are walked."""

import pytest
from contract.tasks.bench import Bench


@pytest.fixture
def table(fleet):
    """A task with a dispatch, and ways to set and to read a state and to try a change."""
    fleet.tasks.add(project="p", title="A", slug="a")
    return Bench(fleet)
