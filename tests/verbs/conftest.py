"""A simulated scene for each test of a verb. A test of a row that has to be shown on both stores runs on each of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.commandline import Answer, CommandLine
from conformance import DUE, read_due

from fleet.api.fleet import Fleet
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


class SceneLine(CommandLine):
    """The command line in this process, as a person uses it in the repository of a simulated scene."""

    def __init__(self, scene: SimulatedScene, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__(Path(scene.home), Path(scene.repository), patch, capsys)
        self._scene = scene

    def __call__(self, *words: str, **how: object) -> Answer:
        with self._patch.context() as patch:
            patch.setattr(Fleet, "opener", self)
            return super().__call__(*words, **how)

    def open(self, actor: str | None) -> Fleet:
        """Open the home of the scene for a command."""
        with self._patch.context() as patch:
            patch.setattr(Fleet, "opener", None)
            return self._scene.open(actor)


@pytest.fixture
def line(scene: SimulatedScene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> SceneLine:
    """The command line of a person at the home of the scene."""
    monkeypatch.setenv("FLEET_HOME", scene.home)
    monkeypatch.setenv("USER", "ann")
    return SceneLine(scene, monkeypatch, capsys)
