"""A worktree whose removal has begun and not come to its end: removed for good, or whole again for whoever works in it next."""

from pathlib import Path

import pytest
from staging.stage import claim_of, standing, status_of

from fleet.errors.tools import GitRefused
from fleet.verbs.dispatch.plan import Wanted

TASK = {"project": "p", "slug": "t"}
AGAIN = Wanted(**TASK, engine="shell", command=("sleep", "1000"))


@pytest.fixture
def half_removed(scene):
    """The tree of an archived task. Whoever removed it was killed with its git, which had got as far as README."""
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        scene.killed(fleet, "t")
        fleet.tasks.archive(**TASK)
        remover = scene.halted("before", "git worktree remove", "sweep")
        remover.kill()
        remover.wait(60)
        (scene.tree("t") / "README").unlink()
        yield fleet


def is_whole(scene) -> bool:
    tree = str(scene.tree("t"))
    return (
        scene.git("rev-parse", "--show-toplevel", "--abbrev-ref", "HEAD", cwd=tree).splitlines() == [tree, "worker/t"]
        and scene.git("status", "--porcelain", cwd=tree) == ""
        and (scene.tree("t") / "README").read_text() == "a repository\n"
    )


@pytest.mark.req("ADO-9", "ADO-11", "SWEEP-1")
def test_a_removal_killed_after_the_pointer_to_git_was_gone_is_gone_on_with_once_nothing_would_be_lost(
    scene, half_removed
):
    tree = scene.tree("t")
    (tree / ".git").unlink()
    (tree / "half.txt").write_text("precious")
    half_removed.sweep.run(kill=True)  # it gets its pointer back, and is looked at again
    assert any(str(tree) in line for line in standing(half_removed.sweep.run(kill=True)))
    assert (tree / "half.txt").read_text() == "precious"
    (tree / "half.txt").unlink()
    scene.swept(half_removed)
    assert (tree.exists(), half_removed.claims.list("adoptable")) == (False, [])


@pytest.mark.req("ADO-10", "STORE-6")
def test_a_tree_that_has_lost_its_pointer_to_git_is_whole_again_for_whoever_takes_the_task_up(scene, half_removed):
    (scene.tree("t") / ".git").unlink()
    half_removed.tasks.retry(**TASK)
    scene.launched(half_removed, half_removed.dispatches.start(AGAIN).id)
    assert is_whole(scene)
    assert claim_of(half_removed, "worktree", slug="t").state == "live"


@pytest.mark.req("ADO-10", "STORE-6")
@pytest.mark.parametrize("when", [" ls-files ", " checkout-index "])
def test_no_agent_is_started_in_a_tree_to_which_git_did_not_give_back_what_is_missing(
    scene, half_removed, monkeypatch, when
):
    half_removed.tasks.retry(**TASK)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", scene.shim("git", when))
        with pytest.raises(GitRefused, match="refused by the test"):
            half_removed.dispatches.start(AGAIN)
    assert (half_removed.agents.list(), status_of(half_removed, "t")[0]) == ([], "open")
    scene.launched(half_removed, half_removed.dispatches.start(AGAIN).id)
    assert is_whole(scene)


def test_a_tree_that_was_torn_down_and_stays_is_set_up_again_for_the_next_agent(scene, once):
    done = Path(scene.root, "done")
    Path(scene.repository, "fleet.toml").write_text(
        f"[worktree]\nsetup = 'echo up >>{done}'\nteardown = 'echo down >>{done}'\n"
    )
    with scene.fleet() as fleet, scene.fleet("ann") as ann:
        scene.without_hint(fleet)
        scene.killed(fleet, "t")
        fleet.tasks.archive(**TASK)
        fleet.funnel.watcher = once("after", "worktree.teardown", lambda: ann.tasks.retry(**TASK))
        fleet.sweep.run(kill=True)
        fleet.funnel.watcher = None
        assert scene.tree("t").exists()
        scene.launched(fleet, fleet.dispatches.start(AGAIN).id)
        assert done.read_text().split() == ["up", "down", "up"]
