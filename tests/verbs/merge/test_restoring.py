"""Recorded merges that a rewritten integration branch has lost are put back, beside what is on it, and nothing is guessed."""

from pathlib import Path

import pytest

from fleet.errors.families import Refused
from fleet.model.branches import INTEGRATION
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT


def merge(scene: SimulatedScene, slug: str, *, name: str = "", text: str = "work\n") -> str:
    """Let a task be worked on and merged; return the commit of the integration branch."""
    ident = scene.work(slug)
    scene.commit(slug, name or slug, text)
    scene.report(ident, slug)
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    assert scene.fleet.merge.task(project=PROJECT, slug=slug).changed
    return scene.git("rev-parse", INTEGRATION)


def rewind(scene: SimulatedScene, commit: str) -> None:
    scene.git("update-ref", f"refs/heads/{INTEGRATION}", commit)


def commit_on(scene: SimulatedScene, parent: str, name: str, text: str) -> str:
    """A commit of somebody else's, made without a checkout."""
    Path(scene.root, "text").write_text(text)
    blob = scene.git("hash-object", "-w", f"{scene.root}/text")
    index = {"GIT_INDEX_FILE": f"{scene.root}/index"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(*next(iter(index.items())))
        scene.git("read-tree", parent)
        scene.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
        tree = scene.git("write-tree")
    return scene.git("commit-tree", tree, "-p", parent, "-m", name)


def files(scene: SimulatedScene) -> list[str]:
    return scene.git("ls-tree", "--name-only", INTEGRATION).splitlines()


@pytest.mark.req("MERGE-5")
def test_nothing_is_restored_while_nothing_is_missing(scene):
    tip = merge(scene, "a")
    before = scene.fleet.operations.newest()
    restored = scene.fleet.merge.restore(project=PROJECT)
    assert (restored.restored, restored.commit, restored.changed) == ([], None, False)
    assert (scene.git("rev-parse", INTEGRATION), scene.fleet.operations.newest()) == (tip, before)


@pytest.mark.req("MERGE-5")
def test_a_branch_that_was_wound_back_is_moved_forward_to_the_last_merge(scene):
    first = merge(scene, "a")
    last = merge(scene, "b")
    rewind(scene, scene.git("rev-parse", "main"))
    restored = scene.fleet.merge.restore(project=PROJECT)
    assert (sorted(restored.restored), restored.commit, restored.changed) == (["a", "b"], last, True)
    assert (scene.git("rev-parse", INTEGRATION), files(scene)) == (last, ["a", "b"])
    rewind(scene, first)
    assert scene.fleet.merge.restore(project=PROJECT).restored == ["b"]
    assert scene.git("rev-parse", INTEGRATION) == last


@pytest.mark.req("MERGE-5")
def test_what_somebody_put_on_the_branch_meanwhile_stays_there(scene):
    last = merge(scene, "a")
    theirs = commit_on(scene, scene.git("rev-parse", "main"), "theirs", "x\n")
    rewind(scene, theirs)
    restored = scene.fleet.merge.restore(project=PROJECT)
    assert restored.restored == ["a"]
    assert scene.git("rev-parse", INTEGRATION) == restored.commit
    assert sorted(scene.git("rev-list", "--parents", "-1", restored.commit).split()[1:]) == sorted([theirs, last])
    assert files(scene) == ["a", "theirs"]


@pytest.mark.req("MERGE-4", "MERGE-5")
def test_a_conflict_is_named_with_its_file_and_the_branch_stays_where_it_was(scene):
    merge(scene, "a", name="same", text="ours\n")
    theirs = commit_on(scene, scene.git("rev-parse", "main"), "same", "theirs\n")
    rewind(scene, theirs)
    before = scene.fleet.operations.newest()
    with pytest.raises(Refused, match="conflict in same"):
        scene.fleet.merge.restore(project=PROJECT)
    assert (scene.git("rev-parse", INTEGRATION), scene.fleet.operations.newest()) == (theirs, before)


@pytest.mark.req("MERGE-5")
def test_a_branch_that_is_gone_is_made_again(scene):
    last = merge(scene, "a")
    scene.git("update-ref", "-d", f"refs/heads/{INTEGRATION}")
    assert scene.fleet.merge.restore(project=PROJECT).commit == last
    assert scene.git("rev-parse", INTEGRATION) == last
