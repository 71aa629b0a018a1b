"""A merge tree whose removal was killed half-way."""

from pathlib import Path

import pytest

TASK = {"project": "p", "slug": "t"}


@pytest.mark.req("MERGE-5", "SWEEP-1")
def test_one_that_has_lost_its_pointer_to_git_is_removed_by_the_next_sweep(scene):
    base = scene.git("rev-parse", "main")
    scene.git("branch", "fleet/main")
    scene.git("branch", "worker/t", scene.git("commit-tree", f"{base}^{{tree}}", "-p", base, "-m", "Do t"))
    with scene.fleet() as fleet:
        fleet.tasks.add(**TASK, title="T")
        fleet.tasks.done(**TASK)
        merger = scene.halted("before", "git worktree remove", "merge", "t")
        merger.kill()
        merger.wait(60)
        (claim,) = fleet.claims.list(kind="merge_tree")
        Path(claim.name, ".git").unlink()
        scene.swept(fleet)
        assert (fleet.claims.list(kind="merge_tree"), Path(claim.name).exists()) == ([], False)
