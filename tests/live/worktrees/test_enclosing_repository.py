"""A home inside somebody's repository: a worktree that has lost its pointer to git is not taken for that repository."""

from pathlib import Path

import pytest
from staging.stage import claim_of, standing

from fleet.errors.families import FleetError
from fleet.verbs.dispatch.plan import Wanted

TASK = {"project": "p", "slug": "t"}


@pytest.fixture
def enclosed(scene):
    """A scene whose home and repository lie in another repository, in which a person is at work."""
    dotfile = Path(scene.root, "dotfile")
    dotfile.write_text("committed\n")
    scene.git("init", "--quiet", "--initial-branch=main", cwd=scene.root)
    scene.git("add", "dotfile", cwd=scene.root)
    scene.git("commit", "--quiet", "--message=dotfiles", cwd=scene.root)
    dotfile.write_text("not committed yet\n")
    return scene


def outside(scene) -> tuple:
    """Everything of the enclosing repository that a git in it could change."""
    return (
        scene.git("symbolic-ref", "HEAD", cwd=scene.root),
        scene.git("for-each-ref", cwd=scene.root),
        Path(scene.root, ".git", "index").read_bytes(),
        Path(scene.root, "dotfile").read_text(),
    )


@pytest.mark.req("ADO-10", "ADO-12")
def test_a_worktree_whose_making_was_killed_before_it_had_its_pointer_is_completed_in_itself(enclosed):
    before, tree = outside(enclosed), enclosed.tree("t")
    with enclosed.fleet() as fleet:
        fleet.tasks.add(**TASK, title="T")
        maker = enclosed.halted("after", "git worktree add", "dispatch", "t")
        maker.kill()
        maker.wait(60)
        (tree / ".git").unlink()  # git writes it after its own entry, and rmtree may have it first
        enclosed.swept(fleet)
        assert claim_of(fleet, "worktree", slug="t").state == "allocating"
        ident = fleet.dispatches.start(Wanted(**TASK, engine="shell", command=("sleep", "1000"))).id
        assert outside(enclosed) == before
        enclosed.launched(fleet, ident)
        assert (tree / "README").read_text() == "a repository\n"
        assert enclosed.git("rev-parse", "--show-toplevel", "--abbrev-ref", "HEAD", cwd=str(tree)).splitlines() == [
            str(tree),
            "worker/t",
        ]
        assert enclosed.git("status", "--porcelain", cwd=str(tree)) == ""
        assert outside(enclosed) == before


@pytest.mark.req("ADO-11", "SWEEP-7")
def test_a_worktree_whose_agent_removed_its_pointer_is_kept_and_said_and_its_work_goes_nowhere(enclosed):
    enclosed.forgiven = {"worktree", "claim work", "journal", "workers", "lock"}
    before, tree = outside(enclosed), enclosed.tree("t")
    with enclosed.fleet() as fleet:
        enclosed.without_hint(fleet)
        enclosed.killed(fleet, "t")
        (tree / ".git").unlink()
        (tree / "half.txt").write_text("precious")
        fleet.tasks.archive(**TASK)
        with pytest.raises(FleetError):
            fleet.sweep.keep(**TASK)
        assert outside(enclosed) == before
        assert any(str(tree) in line for line in standing(fleet.sweep.run(kill=True)))
        assert ((tree / "half.txt").read_text(), (tree / "README").exists()) == ("precious", True)
        assert outside(enclosed) == before
