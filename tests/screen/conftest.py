"""A terminal of the person's own, and agents to look at."""

from collections.abc import Iterator

import pytest
from screen.driving import Terminal
from staging.stage import Stage

from fleet.testing.crash.scenarios import until


@pytest.fixture
def terminal(scene: Stage) -> Iterator[Terminal]:
    made = Terminal(scene)
    yield made
    made.close()


@pytest.fixture
def led(scene: Stage) -> Iterator[Stage]:
    """A stage whose coordinators are stopped before it ends."""
    yield scene
    with scene.fleet() as fleet:
        for project in [each.name for each in fleet.projects.list()]:
            if fleet.coord.show(project).holder:
                until(lambda: fleet.coord.stop(project, "the test is over").stopped)  # noqa: B023
