"""`fleet clean`: what it asks a person, and that it touches nothing before they have agreed."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.commandline import Program
from staging.person import Person

from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.world.home import paths

BAD_INPUT = 2


class Seat:
    """Where a person sits: in the checkout of the scene's project."""

    def __init__(self, scene: SimulatedScene) -> None:
        self.repository = scene.repository
        self._home = scene.home

    def around(self, **more: str) -> dict[str, str]:
        return {**os.environ, "FLEET_HOME": self._home, "USER": "ann", **more}


@pytest.fixture
def program(scene: SimulatedScene) -> Iterator[Program]:
    program = Program(Path(scene.home), Path(scene.repository))
    yield program
    program.end()


def fail(scene: SimulatedScene, slug: str) -> Path:
    """Let the agent of a task fail; return its worktree, which is still there."""
    ident = scene.work(slug)
    scene.exit(ident, 3)
    assert scene.fleet.sessions.settle(ident).settled
    return Path(scene.home, paths.worktree(PROJECT, slug))


def leak(scene: SimulatedScene) -> Path:
    """Leave a worktree whose task was archived and which nobody needs."""
    tree = fail(scene, "a")
    scene.fleet.tasks.archive(project=PROJECT, slug="a")
    assert tree.exists()
    return tree


def test_without_a_terminal_and_without_yes_nothing_is_cleaned_up(scene, program):
    assert program("clean").ok().out == "nothing leaked\n"
    tree = leak(scene)
    said = program("clean")
    assert said.code == BAD_INPUT
    assert "there is no terminal to ask for confirmation: use --yes" in said.err
    assert tree.exists()
    assert program("clean", "--json").ok().json != []
    assert tree.exists(), "--json alone only lists"
    program("clean", "--yes").ok()
    assert not tree.exists()
    assert program("clean").ok().out == "nothing leaked\n"


@pytest.mark.parametrize("agrees", [False, True])
def test_a_person_is_shown_what_leaked_and_decides(scene, agrees):
    tree = leak(scene)
    ann = Person(Seat(scene), "clean")
    shown = ann.sees("1 thing to clean up. Continue? [y/N]: ")
    assert "the bundle of p/a: nobody needs it any more" in shown
    assert tree.exists(), "nothing is touched before the person has agreed"
    ann.says("y" if agrees else "n")
    assert ("nothing was cleaned up" in ann.ends()) is not agrees
    assert tree.exists() is not agrees


@pytest.mark.req("ADO-11")
@pytest.mark.parametrize("choice", ["commit", "keep", "open"])
def test_a_worktree_that_is_kept_for_its_content_is_offered_and_only_committed_content_goes(scene, choice):
    tree = fail(scene, "a")
    (tree / "new.txt").write_text("precious\n")
    scene.fleet.tasks.archive(project=PROJECT, slug="a")
    ann = Person(Seat(scene), "clean", columns=300)
    asked = ann.sees("keep it, or open it (prints its path)")
    assert "(p/a, which is archived)" in asked
    assert "commit it to a ref of its own and remove the worktree, " in asked
    ann.sees("[keep]: ")
    ann.says(choice)
    said = ann.ends()
    assert (f"cd {tree}" in said) is (choice == "open")
    assert tree.exists() is (choice != "commit")
    if choice == "commit":
        ref = said.partition("kept as ")[2].partition(";")[0]
        assert scene.git("show", f"{ref}:new.txt") == "precious"
