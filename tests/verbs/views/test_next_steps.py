"""The next steps of tasks, over the simulated world: what they cost, and that git does what they name."""

import os
import subprocess
from pathlib import Path

import pytest

from fleet.api.hooking import Hooking
from fleet.errors.refused import ProjectInUse
from fleet.model.agents.dialect import Dialect
from fleet.model.names import DispatchId
from fleet.model.results.tasks import NextStep
from fleet.testing.simulated.scene import PROJECT
from fleet.world.home import paths

ASKING = Dialect({"engine": "x", "events": {"Ask": "asks"}, "shell": "Bash", "notices": {}, "wait": 0})
TASK = {"project": PROJECT, "slug": "a"}


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


@pytest.mark.req("OBS-3", "ASK-1")
def test_a_task_whose_agent_asks_waits_for_the_answer_of_a_person(scene):
    ident = scene.work("a")
    hook = Hooking(scene.home, DispatchId(ident), scene.fleet.store, scene.fleet.funnel)
    told = {"tool_name": "Bash", "tool_input": {"command": "make deploy"}}
    assert scene.fleet.tasks.show(**TASK).next_step == NextStep(says=f"{ident} works on it", command=None)
    first, second = (hook.handle_event(ASKING, "Ask", told, scene.clock.now() + late).question for late in (1, 2))
    waits = NextStep(says=f"{ident} waits for an answer", command=f"fleet questions {first}")
    assert scene.fleet.tasks.show(**TASK).next_step == scene.fleet.tasks.why(**TASK).next_step == waits
    for question in (first, second):
        scene.fleet.messages.answer(question, ["allow"])
    assert scene.fleet.tasks.show(**TASK).next_step.command is None


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


def fail_in_tree(scene, *words: str) -> str:
    """Let an agent commit, run git in its worktree, and fail; return the worktree."""
    ident, tree = scene.work("a"), f"{scene.home}/{paths.worktree(PROJECT, 'a')}"
    scene.commit("a")
    subprocess.run(["git", *words], cwd=tree, check=False, capture_output=True)
    scene.exit(ident, 3)
    scene.fleet.sessions.settle(ident)
    return tree


def named(scene) -> str:
    return scene.open().tasks.show(**TASK).next_step.command


def test_an_agent_goes_on_in_the_middle_of_a_rebase_and_the_tree_is_kept(scene):
    tree = fail_in_tree(scene, "rebase", "--exec", "false", "HEAD~1")
    assert "rebase in progress" in scene.git("status", cwd=tree)
    assert scene.git("branch", "--show-current", cwd=tree) == ""
    assert named(scene) == f"fleet resume a -p {PROJECT}"
    ident = scene.fleet.dispatches.resume(f"{PROJECT}/a").id
    scene.launch(ident)
    assert (scene.agent(ident).cwd, "rebase in progress" in scene.git("status", cwd=tree)) == (tree, True)
    with pytest.raises(ProjectInUse, match="a rebase is in progress in"):
        scene.fleet.projects.clear(PROJECT)
    assert os.path.exists(f"{tree}/work")
    scene.git("rebase", "--abort", cwd=tree)
    scene.fleet.projects.clear(PROJECT)
    assert not os.path.exists(tree)


def test_a_rebase_of_another_branch_is_not_the_tasks_own(scene):
    tree = fail_in_tree(scene, "checkout", "--quiet", "-b", "mine")
    subprocess.run(["git", "rebase", "--exec", "false", "HEAD~1"], cwd=tree, check=False, capture_output=True)
    assert named(scene).startswith(f"git -C {tree} ")


def test_commits_on_no_branch_are_rescued_under_a_free_name(scene):
    tree = fail_in_tree(scene, "checkout", "--quiet", "--detach", "HEAD~1")
    scene.git("commit", "--quiet", "--allow-empty", "--message=stray", cwd=tree)
    assert named(scene) == f"git -C {tree} switch --create rescued/a"
    scene.git("branch", "rescued/a")
    assert named(scene) == f"git -C {tree} switch --create rescued/a-2"
    scene.git(*named(scene).split()[1:])


def test_no_git_command_is_named_when_only_git_knows_the_branches(scene):
    tree = fail_in_tree(scene, "checkout", "--quiet", "--detach")
    assert named(scene).startswith(f"git -C {tree} ")
    scene.git("branch", "saved", "worker/a")
    scene.git("symbolic-ref", "refs/heads/worker/a", "refs/heads/saved")
    assert named(scene) == f"fleet resume a -p {PROJECT}"
