"""A home that was moved away is not made anew by a process that still works in it."""

import os

import pytest

from fleet import errors
from fleet.testing.simulated.scene import PROJECT


@pytest.fixture
def moved(scene):
    """A fleet that was opened before its home was moved away; whatever it did, the home must not be there again."""
    ident = scene.work("a")
    scene.exit(ident)
    fleet, away = scene.open(), f"{scene.root}/moved"
    os.rename(scene.home, away)
    yield fleet, ident
    assert not os.path.lexists(scene.home)
    os.rename(away, scene.home)
    assert scene.open().sessions.settle(ident).settled


def test_by_the_hint_of_an_agents_end(moved):
    fleet, ident = moved
    with pytest.raises((errors.FleetError, OSError)):
        fleet.sessions.settle(ident)


def test_by_a_gate_a_file_a_folder_or_a_lock(moved):
    world = moved[0].world
    for act in (
        lambda: world.gate("one").take(),
        lambda: world.project_gate(PROJECT, "one").take(),
        lambda: world.work_gate("one", "a").take(),
        lambda: world.effect_lock("one").take(),
        lambda: world.files.publish("prompts/one", b"text"),
        lambda: world.files.make_folder(f"{world.home}/projects/p/worktrees"),
        lambda: world.files.link("projects/p/one", to="elsewhere"),
        lambda: world.job_commands.start(
            "job step", ["true"], env={}, cwd="/", output=f"{world.home}/logs/one", limit=1
        ),
    ):
        with pytest.raises((errors.FleetError, OSError)):
            act()
