"""The stage on which the real Claude Code plays. Opt-in: `make test-agents` installs it and runs these tests."""

from collections.abc import Iterator

import pytest
from agents.stage import Stage, needs


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    needs("claude")
    made = Stage(monkeypatch)
    yield made
    made.close()
