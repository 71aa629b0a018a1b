"""`fleet diff`: what a task's branch changes, whatever else bears its name."""

from pathlib import Path

import pytest

from fleet.errors.tools import GitRefused

TASK = {"project": "p", "slug": "t"}


@pytest.fixture
def worked(scene):
    """A task with one new file on its branch."""
    scene.git("branch", "fleet/main")
    scene.git("switch", "--quiet", "--create", "worker/t")
    Path(scene.repository, "new.txt").write_text("hello\n")
    scene.git("add", ".")
    scene.git("commit", "--quiet", "--message=Add new")
    scene.git("switch", "--quiet", "main")
    with scene.fleet() as fleet:
        fleet.tasks.add(**TASK, title="T")
        yield fleet


@pytest.mark.parametrize(("tag", "at"), [("worker/t", "fleet/main"), ("fleet/main", "worker/t")])
def test_a_tag_of_the_same_name_hides_no_work(scene, worked, tag, at):
    scene.git("tag", tag, f"refs/heads/{at}")
    assert "+hello" in worked.dispatches.diff(**TASK)


def test_a_git_that_fails_is_no_empty_answer(scene, worked, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("PATH", scene.shim("git", " diff "))
        with pytest.raises(GitRefused, match="refused by the test"):
            worked.dispatches.diff(**TASK)


def test_a_task_without_a_branch_has_changed_nothing(scene):
    with scene.fleet() as fleet:
        fleet.tasks.add(**TASK, title="T")
        assert fleet.dispatches.diff(**TASK) == ""
