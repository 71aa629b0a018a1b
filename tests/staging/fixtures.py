"""A stage for each test, and a watcher that acts at one effect."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from staging.stage import FLEET, Stage


@pytest.fixture
def scene(tmux: None) -> Iterator[Stage]:
    """On SQLite: what is tested is outside the store."""
    stage = Stage()
    yield stage
    stage.end()


@pytest.fixture
def either(store_url: str, tmux: None) -> Iterator[Stage]:
    """On each kind of store."""
    stage = Stage(store=store_url)
    yield stage
    stage.end()


@pytest.fixture
def crowded(store_url: str, tmux: None) -> Iterator[Stage]:
    """With room for four agents."""
    stage = Stage(store=store_url, settings="[limits]\nagents = 4\n")
    yield stage
    stage.end()


@pytest.fixture
def patient(tmux: None) -> Iterator[Stage]:
    """An agent may live on for an hour after its report."""
    stage = Stage()
    config = Path(stage.home, "config.toml")
    config.write_text(config.read_text().replace('report_grace = "1s"', 'report_grace = "1h"'))
    yield stage
    stage.end()


class Once:
    """Does something at the first effect that begins so."""

    def __init__(self, where: str, effect: str, act: Callable[..., object]) -> None:
        self.where = where
        self.effect = effect
        self.act = act

    def before(self, effect: str) -> None:
        self._at("before", effect)

    def during(self, effect: str, pid: int) -> None:
        self._at("during", effect, pid)

    def after(self, effect: str) -> None:
        self._at("after", effect)

    def _at(self, where: str, effect: str, *facts: int) -> None:
        if where == self.where and effect.startswith(self.effect):
            self.where = "never"
            self.act(*facts)


@pytest.fixture
def once() -> type[Once]:
    return Once


@pytest.fixture
def slow_fleet(tmp_path: Path) -> tuple[str, Callable[[], None]]:
    """A fleet whose `launch` waits until it is let go: a pane command that starts minutes late."""
    pipe, script = tmp_path / "go", tmp_path / "fleet"
    os.mkfifo(pipe)
    script.write_text(f'#!/bin/sh\ncase "$1" in launch) read line <{pipe};; esac\nexec {FLEET} "$@"\n')
    script.chmod(0o700)
    return str(script), lambda: pipe.write_text("go\n") and None
