"""Uncommitted work of a task that is over: kept in a ref of its own, whatever another git does in that worktree meanwhile."""

import os
from pathlib import Path

import pytest

from fleet.errors import Absent, GitRefused
from fleet.testing.scene import PROJECT


@pytest.fixture
def left(scene):
    """A worktree of an archived task, with a file nobody committed, and where git keeps its index."""
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "t", "sh", "-c", "echo half > half.txt; exit 1")
        scene.ended(fleet)
        fleet.archive(project=PROJECT, slug="t")
        scene.swept(fleet)
        yield fleet, scene.tree("t"), Path(scene.git("rev-parse", "--absolute-git-dir", cwd=scene.tree("t")))
        for tree in fleet.kept_trees():
            fleet.keep(project=tree["project"], slug=tree["task"])


@pytest.mark.req("ADO-11")
def test_it_is_kept_once_and_the_tree_goes(left, scene):
    fleet, tree, _git = left
    kept = fleet.keep(project=PROJECT, slug="t")
    assert scene.git("show", f"{kept['ref']}:half.txt") == "half"
    assert (kept["left"], tree.exists()) == ([], False)
    with pytest.raises(Absent):
        fleet.keep(project=PROJECT, slug="t")


@pytest.mark.req("ADO-11")
def test_a_dead_lock_on_the_index_goes_and_a_held_one_is_left_alone(left):
    fleet, tree, git = left
    lock = git / "index.lock"
    with lock.open("w"), pytest.raises(GitRefused, match=r"index\.lock"):
        fleet.keep(project=PROJECT, slug="t")
    assert (lock.exists(), (tree / "half.txt").exists()) == (True, True)
    assert fleet.keep(project=PROJECT, slug="t")["left"] == []


@pytest.mark.req("SWEEP-7")
def test_asking_whether_there_is_work_writes_nothing(left):
    fleet, tree, git = left
    os.utime(tree / "README")
    before = (git / "index").stat()
    assert [each["path"] for each in fleet.kept_trees()] == [str(tree)]
    assert (git / "index").stat().st_mtime_ns == before.st_mtime_ns, "git would have refreshed it, under a lock"
