"""Repositories with SHA-256, with tags that are called like branches, and with branches in the way of fleet's own."""

import shutil
from pathlib import Path

import pytest
from staging.stage import status_of

from fleet.errors.refused import BranchBlocked
from fleet.errors.tools import GitRefused


def anew(scene, *options: str) -> None:
    """The repository as if it had always been another."""
    shutil.rmtree(Path(scene.repository, ".git"))
    scene.git("init", "--quiet", "--initial-branch=main", *options)
    scene.git("add", ".")
    scene.git("commit", "--quiet", "--message=first")


def merged(scene, fleet, slug: str) -> None:
    """Work from dispatch to landing."""
    scene.dispatch(fleet, slug, engine="scripted", script=f"write {slug}.txt one\ncommit Add {slug}\ndone\n")
    scene.ended(fleet)
    assert status_of(fleet, slug) == ("to merge", None)
    fleet.merge.task(project="p", slug=slug)
    assert scene.git("show", f"refs/heads/fleet/main:{slug}.txt") == "one"


def landed(scene, fleet) -> None:
    """The target is moved, nobody having it checked out."""
    Path(scene.repository, "fleet.toml").write_text('target = "main"\n')
    scene.git("checkout", "--quiet", "--detach")
    assert fleet.merge.land(project="p", dry=False).moved is True


@pytest.mark.req("MERGE-1")
def test_work_in_a_repository_with_sha_256_is_merged_landed_and_kept(scene):
    anew(scene, "--object-format=sha256")
    with scene.fleet() as fleet:
        merged(scene, fleet, "a")
        merged(scene, fleet, "b")
        landed(scene, fleet)
        assert scene.git("show", "main:b.txt") == "one"
        scene.dispatch(fleet, "c", engine="scripted", script="write c.txt dirty\nexit 1\n")
        scene.ended(fleet)
        fleet.tasks.abandon(project="p", slug="c", override=True)
        fleet.tasks.archive(project="p", slug="c")
        ref = fleet.sweep.keep(project="p", slug="c").ref
        assert scene.git("show", f"{ref}:c.txt") == "dirty"
        assert len(scene.git("rev-parse", "HEAD")) == 64


@pytest.mark.req("MERGE-1")
def test_tags_that_are_called_like_branches_are_never_meant(scene):
    scene.git("commit", "--quiet", "--allow-empty", "--message=second")
    for tag in ("main", "fleet/main", "worker/a"):
        scene.git("tag", tag, "HEAD~1")
    with scene.fleet() as fleet:
        assert fleet.world.git.head_branch(scene.repository) == "main"
        merged(scene, fleet, "a")
        assert scene.git("merge-base", "refs/heads/fleet/main", "refs/heads/main") == scene.git(
            "rev-parse", "refs/heads/main"
        )
        landed(scene, fleet)
        assert scene.git("show", "refs/heads/main:a.txt") == "one"


@pytest.mark.req("MERGE-3")
@pytest.mark.parametrize("branch", ["fleet", "worker"])
def test_a_branch_in_the_way_is_refused_with_gits_reason_before_anything_is_written(scene, branch):
    other = Path(scene.root, "other")
    shutil.copytree(scene.repository, other)
    scene.git("branch", branch, cwd=str(other))
    with scene.fleet() as fleet:
        before = fleet.operations.newest()
        for words in (
            ("init", str(other)),
            ("up", str(other), "--engine", "shell", "--autonomy", "full", "--review", "none"),
        ):
            said = scene.program(*words).refused(14, f"'refs/heads/{branch}' exists", "git branch -m")
            assert said.out == ""
        with pytest.raises(BranchBlocked):
            fleet.projects.register(str(other), "other")
        assert (fleet.operations.newest(), (other / "fleet.toml").exists()) == (before, False)
        scene.git("branch", "-m", branch, "mine", cwd=str(other))
        fleet.projects.register(str(other), "other")


@pytest.mark.req("MERGE-1")
def test_a_branch_that_came_into_the_way_later_is_named(scene):
    scene.git("branch", "fleet")
    with scene.fleet() as fleet, pytest.raises(GitRefused, match="'refs/heads/fleet' exists; cannot create"):
        scene.dispatch(fleet, "a", "true")
