"""Branches read from files: whatever the repository looks like, the answer is git's own, or none."""

import os
import subprocess
from pathlib import Path

import pytest

from fleet.world.git import refs

NAMES = ("main", "worker/one", "worker/two", "worker", "missing", "moved", "alias")


def git(path: Path, *words: str) -> str:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@a", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@a"}
    done = subprocess.run(
        ["git", "-C", str(path), *words], env=os.environ | who, check=True, capture_output=True, text=True
    )
    return done.stdout


def told(path: Path) -> dict[str, str]:
    pairs = (
        line.split()
        for line in git(path, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads").splitlines()
    )
    return {name: commit for name, commit in pairs if name in NAMES}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message=first")
    for name in ("worker/one", "moved"):
        git(tmp_path, "branch", name)
    git(tmp_path, "tag", "--annotate", "--message=t", "v1")
    return tmp_path


def later(path: Path) -> None:
    git(path, "commit", "--quiet", "--allow-empty", "--message=second")
    git(path, "branch", "--force", "moved")
    git(path, "branch", "worker/two")
    git(path, "branch", "--delete", "worker/one")


@pytest.mark.req("ADO-10")
@pytest.mark.parametrize("steps", [[], ["pack"], [later], ["pack", later], [later, "pack"]])
def test_loose_packed_moved_and_deleted_ones_read_as_git_reads_them(repository, steps):
    for step in steps:
        git(repository, "pack-refs", "--all") if step == "pack" else step(repository)
    assert refs.branches(f"{repository}/.git", NAMES) == told(repository)


@pytest.mark.req("ADO-10")
@pytest.mark.parametrize("what", ["a name for another", "torn", "kept elsewhere", "no repository"])
def test_what_the_files_do_not_tell_is_left_to_git(repository, what):
    place = repository / ".git"
    if what == "a name for another":
        git(repository, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    if what == "torn":
        (place / "refs/heads/main").write_text("")
    if what == "kept elsewhere":
        git(repository, "worktree", "add", "--quiet", f"{repository}/tree", "worker/one")
        place = place / "worktrees/tree"
    assert refs.branches(str(place) if what != "no repository" else "/", NAMES) is None
