"""Uncommitted work of a task that is over: kept in a ref of its own, whatever another git does in that worktree meanwhile."""

import os
import signal
from pathlib import Path

import pytest
from staging.stage import answer, is_alive

from fleet.errors.families import Absent, Contested, FleetError
from fleet.errors.tools import GitRefused
from fleet.testing.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.resume import work_lock


@pytest.fixture
def left(scene):
    """A worktree of an archived task, with a file nobody committed, and where git keeps its index."""
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "t", "sh", "-c", "echo half > half.txt; exit 1")
        scene.ended(fleet)
        fleet.tasks.archive(project=PROJECT, slug="t")
        scene.swept(fleet)
        yield fleet, scene.tree("t"), Path(scene.git("rev-parse", "--absolute-git-dir", cwd=scene.tree("t")))
        for tree in fleet.sweep.kept_trees():
            fleet.sweep.keep(project=tree.project, slug=tree.task)


@pytest.mark.req("ADO-11")
def test_it_is_kept_once_and_the_tree_goes(left, scene):
    fleet, tree, _git = left
    kept = fleet.sweep.keep(project=PROJECT, slug="t")
    assert scene.git("show", f"{kept.ref}:half.txt") == "half"
    assert (kept.left, tree.exists()) == ([], False)
    with pytest.raises(Absent):
        fleet.sweep.keep(project=PROJECT, slug="t")


@pytest.mark.req("ADO-11")
def test_a_dead_lock_on_the_index_goes_and_a_held_one_is_left_alone(left):
    fleet, tree, git = left
    lock = git / "index.lock"
    with lock.open("w"), pytest.raises(GitRefused, match=r"index\.lock"):
        fleet.sweep.keep(project=PROJECT, slug="t")
    assert (lock.exists(), (tree / "half.txt").exists()) == (True, True)
    assert fleet.sweep.keep(project=PROJECT, slug="t").left == []


@pytest.mark.req("SWEEP-7")
def test_asking_whether_there_is_work_writes_nothing(left):
    fleet, tree, git = left
    os.utime(tree / "README")
    before = (git / "index").stat()
    assert [each.path for each in fleet.sweep.kept_trees()] == [str(tree)]
    assert (git / "index").stat().st_mtime_ns == before.st_mtime_ns, "git would have refreshed it, under a lock"


@pytest.mark.req("ADO-5", "ADO-11")
def test_nobody_starts_to_work_in_a_tree_whose_work_is_just_being_kept(left, scene, monkeypatch):
    fleet, tree, _git = left
    again = Wanted(project=PROJECT, slug="t", engine="shell", command=("sleep", "1000"), wait=0)
    keeper = scene.halted("after", "git add", "keep", "t")
    fleet.tasks.retry(project=PROJECT, slug="t")
    with monkeypatch.context() as patch:
        patch.setattr(work_lock, "WAIT", 0.0)
        with pytest.raises(Contested, match=str(keeper.pid)):
            fleet.dispatches.start(again)
    os.kill(keeper.pid, signal.SIGCONT)
    said = answer(keeper)
    assert said.code == 0, said
    assert scene.git("show", f"{said.out.strip()}:half.txt") == "half"
    scene.launched(fleet, fleet.dispatches.start(again).id)
    assert (tree / "README").exists()


@pytest.mark.req("ADO-5", "ADO-11")
def test_what_an_agent_is_still_working_on_is_not_kept_away_from_it(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        who = scene.launched(fleet, ident)
        fleet.tasks.abandon(project=PROJECT, slug="t", override=True)
        fleet.tasks.archive(project=PROJECT, slug="t")
        work = scene.tree("t") / "README"
        work.write_text("half")
        with pytest.raises(FleetError):
            fleet.sweep.keep(project=PROJECT, slug="t")
        assert (is_alive(who.pid), work.read_text()) == (True, "half")
        assert scene.git("for-each-ref", "refs/fleet/kept") == ""
        fleet.dispatches.kill(ident, "a test")
        assert scene.git("show", f"{fleet.sweep.keep(project=PROJECT, slug='t').ref}:README") == "half"
