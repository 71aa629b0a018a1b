"""The next steps of many tasks, over the simulated world: what they cost."""

import os
from pathlib import Path

from fleet.testing.simulated.scene import PROJECT


class Counting:
    """Counts the git commands that are started."""

    def __init__(self) -> None:
        self.commands: list[str] = []

    def before(self, effect: str) -> None:
        if effect.startswith("git "):
            self.commands.append(effect)

    def during(self, effect: str, pid: int) -> None: ...

    def after(self, effect: str) -> None: ...


def git_commands_of_status(scene) -> list[str]:
    fleet = scene.open()
    fleet.funnel.watcher = counting = Counting()
    assert all(task.next_step is not None for task in fleet.views.status().failed)
    return counting.commands


def test_status_starts_no_git_for_each_task_that_has_stopped(scene):
    ident = scene.work("a")
    scene.exit(ident, 3)
    scene.fleet.sessions.settle(ident)
    before = git_commands_of_status(scene)
    for number in range(50):
        place = {"project": PROJECT, "slug": f"t{number}"}
        scene.fleet.tasks.add(project=PROJECT, title="t", slug=place["slug"])
        scene.fleet.tasks.fail(**place, reason="no")
    assert git_commands_of_status(scene) == before


def test_a_branch_that_is_packed_is_there(scene):
    ident = scene.work("a")
    scene.commit("a")
    scene.exit(ident, 3)
    scene.fleet.sessions.settle(ident)
    named = scene.fleet.tasks.show(project=PROJECT, slug="a").next_step
    scene.git("pack-refs", "--all")
    assert not os.path.exists(f"{scene.repository}/.git/refs/heads/worker/a")
    assert scene.fleet.tasks.show(project=PROJECT, slug="a").next_step == named


def test_a_project_whose_settings_cannot_be_read_keeps_its_place_in_the_status(scene):
    ident = scene.work("a")
    scene.commit("a")
    scene.exit(ident, 3)
    scene.fleet.sessions.settle(ident)
    scene.fleet.tasks.fail(project=PROJECT, slug="a", reason="no")
    scene.git("update-ref", "-d", "refs/heads/worker/a")
    Path(scene.repository, "fleet.toml").write_text("engine = [")
    fleet = scene.open()
    (failed,) = fleet.views.status().failed
    assert failed.next_step is not None
    assert (failed.slug, failed.next_step.command) == ("a", None)
    assert fleet.tasks.show(project=PROJECT, slug="a").next_step == failed.next_step
