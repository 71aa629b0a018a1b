"""A bare repository: `fleet up` refuses it and writes nothing, neither there nor into the home."""

import subprocess


def test_up_refuses_a_bare_repository_and_writes_nothing(fleet, tmp_path):
    bare = tmp_path / "bare.git"
    subprocess.run(["git", "init", "--quiet", "--bare", bare], check=True)
    before = sorted(bare.rglob("*"))
    for place in (bare, bare / "refs"):
        up = fleet("up", "--engine", "shell", "--autonomy", "full", "--review", "none", where=place)
        up.refused(14, f"{bare} is a bare repository", "nothing was written there", "clone it")
    assert sorted(bare.rglob("*")) == before
    assert [each["name"] for each in fleet.ask("project", "list")] == ["web"]


def test_up_refuses_a_checkout_that_git_takes_for_bare(fleet, repository):
    subprocess.run(["git", "-C", repository, "config", "core.bare", "true"], check=True)
    up = fleet("up", "--engine", "shell", "--autonomy", "full", "--review", "none")
    up.refused(14, "is a bare repository", "git config core.bare false")
    assert [path.name for path in repository.iterdir()] == [".git"]
