"""Merging what was merged, what has no branch, and what a merge left when it died: nothing is called what it is not."""

import shutil
from pathlib import Path

import pytest

from fleet.errors.refused import NotMergeable
from fleet.errors.tools import GitRefused
from fleet.testing.crash.scenarios import until

TASK = {"project": "p", "slug": "t"}


def done_by_hand(scene, fleet, *, commit: bool) -> str:
    """A task that a person did on its branch, and called done: where that branch is."""
    base = scene.git("rev-parse", "main")
    tip = scene.git("commit-tree", f"{base}^{{tree}}", "-p", base, "-m", "Do t") if commit else base
    scene.git("branch", "worker/t", tip)
    scene.git("branch", "fleet/main", base)
    fleet.tasks.add(**TASK, title="T")
    fleet.tasks.done(**TASK)
    return tip


def died(scene, where: str, effect: str) -> None:
    """A merge is killed there."""
    merger = scene.halted(where, effect, "merge", "t")
    merger.kill()
    merger.wait(60)


@pytest.mark.req("GRAPH-5", "GRAPH-13")
def test_what_was_done_without_a_branch_is_refused_and_stays_done(scene):
    with scene.fleet() as fleet:
        fleet.tasks.add(**TASK, title="T")
        fleet.tasks.add(project="p", title="Next", slug="next", after=("t",))
        fleet.tasks.done(**TASK)
        before = (
            fleet.operations.newest(),
            fleet.tasks.show(**TASK),
            [each.slug for each in fleet.tasks.ready(project="p")],
        )
        assert (before[1].status, before[2]) == ("done", ["next"])
        with pytest.raises(NotMergeable, match="no branch"):
            fleet.merge.task(**TASK)
        now = (
            fleet.operations.newest(),
            fleet.tasks.show(**TASK),
            [each.slug for each in fleet.tasks.ready(project="p")],
        )
        assert now == before


@pytest.mark.req("GRAPH-5", "MERGE-5")
def test_what_is_merged_is_said_to_be_the_second_time_and_stays_merged(scene):
    with scene.fleet() as fleet:
        done_by_hand(scene, fleet, commit=True)
        merged = fleet.merge.task(**TASK)
        scene.git("branch", "-D", "worker/t")  # as the release of its worktree does
        before = (fleet.operations.newest(), fleet.tasks.show(**TASK), scene.git("rev-parse", "fleet/main"))
        assert (before[1].status, before[1].archived) == ("done", True)
        assert fleet.merge.task(**TASK) == merged.replaced(changed=False)
        assert (fleet.operations.newest(), fleet.tasks.show(**TASK), scene.git("rev-parse", "fleet/main")) == before


@pytest.mark.req("MERGE-5")
def test_a_branch_with_nothing_new_is_not_called_merged_while_git_does_not_say_what_is_checked_out(scene):
    entry = Path(scene.repository, ".git/worktrees/broken")
    with scene.fleet() as fleet:
        done_by_hand(scene, fleet, commit=False)
        entry.mkdir(parents=True)
        for name, text in {"locked": "x", "gitdir": "/nowhere/.git\n", "commondir": ""}.items():
            (entry / name).write_text(text)  # a disk was full when git wrote the last one
        assert fleet.world.git.worktrees(scene.repository) is None
        before = (fleet.operations.newest(), fleet.tasks.show(**TASK))
        with pytest.raises(GitRefused, match="say whether fleet/main is checked out"):
            fleet.merge.task(**TASK)
        assert (fleet.operations.newest(), fleet.tasks.show(**TASK)) == before
        shutil.rmtree(entry)
        fleet.merge.task(**TASK)
        assert fleet.tasks.show(**TASK).archived


@pytest.mark.req("MERGE-5")
def test_a_merge_that_died_before_it_merged_is_not_called_merged_when_the_work_has_left_its_branch(scene):
    with scene.fleet() as fleet:
        tip = done_by_hand(scene, fleet, commit=True)
        died(scene, "before", "git update-ref")
        scene.git("worktree", "add", "--quiet", "--detach", str(scene.tree("t")), tip)
        scene.git("branch", "--force", "worker/t", "fleet/main")
        scene.swept(fleet)
        assert fleet.dispatches.list(ended=False) == []
        assert not fleet.tasks.show(**TASK).archived
        with pytest.raises(NotMergeable, match="on no branch"):
            fleet.merge.task(**TASK)
        scene.git("worktree", "remove", str(scene.tree("t")))


@pytest.mark.req("MERGE-5", "SWEEP-12")
def test_a_merge_that_died_behind_its_verify_leaves_nothing_at_work_and_is_done_again(scene):
    Path(scene.repository, "fleet.toml").write_text("verify = 'sleep 1000 >/dev/null 2>&1 & true'\n")
    with scene.fleet() as fleet:
        tip = done_by_hand(scene, fleet, commit=True)
        died(scene, "after", "verify")
        (claim,) = fleet.claims.list(kind="merge_tree")
        (left,) = fleet.world.processes.marked(claim.dispatch)
        scene.swept(fleet)
        until(lambda: fleet.world.processes.life(left) == "dead")
        fleet.merge.task(**TASK)
        task = fleet.tasks.show(**TASK)
        assert (task.status, task.archived) == ("done", True)
        assert scene.git("merge-base", "fleet/main", tip) == tip
