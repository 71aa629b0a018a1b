"""The stage on which the real Claude Code plays. Opt-in: `make test-agents` installs it and runs these tests."""

import json
from collections.abc import Iterator

import pytest
from real_agents.staging.stage import Model, Stage, needs


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    needs("claude")
    made = Stage(monkeypatch)
    yield made
    made.close()


@pytest.fixture
def heard(stage, monkeypatch) -> list[str]:
    """Every request that the model gets, as text."""
    bodies: list[str] = []
    answer = Model.answer

    def listening(self, body, turn):
        if body.get("tools"):
            bodies.append(json.dumps(body["messages"], ensure_ascii=False))
        return answer(self, body, turn)

    monkeypatch.setattr(Model, "answer", listening)
    return bodies
