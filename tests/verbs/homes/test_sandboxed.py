"""Agents that the settings want in a sandbox are in one whenever they are started, also when they go on with earlier work."""

import os
import stat

import pytest

from fleet.errors.refused import NoAgentsDoor
from fleet.model.agents.actors import DOOR
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.homes import sandbox


@pytest.fixture
def usable(monkeypatch, tmp_path) -> None:
    """A machine on which bubblewrap works, and a daemon that listens. Nothing is started by it here."""
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\n")
    program.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(sandbox, "check_sandbox", lambda _context: "bwrap")


@pytest.fixture
def scene(usable, on_store):
    with SimulatedScene(settings=f'{on_store}agents.sandbox = "bwrap"\n') as made:
        yield made


def is_in_sandbox(scene: SimulatedScene, ident: str) -> bool:
    """Whether the agent is bubblewrap's process, reaches fleet by the door alone, and its row says so."""
    agent = scene.launch(ident)
    seen = {
        os.path.basename(agent.words[0]) == "bwrap",
        bool(agent.environment.get(DOOR)),
        scene.fleet.context.dispatch(ident).sandbox == "bwrap",
    }
    assert len(seen) == 1, (agent.words, agent.environment, seen)
    return seen == {True}


@pytest.mark.req("SEC-3")
def test_an_agent_of_a_sandbox_is_resumed_in_one(scene):
    first = scene.dispatch("a")
    assert is_in_sandbox(scene, first)
    scene.exit(first, 3)
    resumed = scene.fleet.dispatches.resume(first).id
    assert resumed != first
    assert is_in_sandbox(scene, resumed)


@pytest.mark.req("SEC-3")
def test_the_successor_of_a_handoff_is_in_a_sandbox_too(scene):
    first = scene.dispatch("a")
    assert is_in_sandbox(scene, first)
    scene.fleet.coord.hand_off(first, reason="full")
    for _ in range(3):  # it is asked to exit and goes, and its successor is started
        scene.fleet.coord.drain(PROJECT)
        scene.clock.wait(1)
    (successor,) = scene.fleet.agents.list()
    assert successor.id != first
    assert is_in_sandbox(scene, successor.id)


@pytest.mark.req("SEC-3")
def test_a_resume_is_refused_where_the_sandbox_cannot_be_made_any_more(scene, monkeypatch):
    first = scene.dispatch("a")
    scene.launch(first)
    scene.exit(first, 3)
    before = [each.id for each in scene.fleet.dispatches.list()]

    def refuse(_context):
        raise NoAgentsDoor(path="nowhere")

    monkeypatch.setattr(sandbox, "check_sandbox", refuse)
    with pytest.raises(NoAgentsDoor):
        scene.fleet.dispatches.resume(first)
    assert [each.id for each in scene.fleet.dispatches.list()] == before
    assert scene.fleet.agents.list() == []
