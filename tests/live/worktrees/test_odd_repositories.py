"""Repositories with something unusual in them: agents start in them, and nothing in them is lost."""

from pathlib import Path

import pytest
from staging.stage import claim_of, standing


def commit(scene, name: str, text: str) -> None:
    path = Path(scene.repository, name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    scene.git("add", name)
    scene.git("commit", "--quiet", "--message=more")


def test_an_agent_starts_where_a_top_folder_is_named_objects(scene):
    commit(scene, "objects/a.txt", "hello\n")
    with scene.fleet() as fleet:
        scene.launched(fleet, scene.dispatch(fleet, "t", "sleep", "1000"))
    assert (scene.tree("t") / "objects/a.txt").read_text() == "hello\n"


def test_an_agent_starts_where_a_repository_within_is_ignored_and_included(scene):
    commit(scene, ".gitignore", "vendor/\nlocal.env\n")
    commit(scene, ".worktreeinclude", "vendor/\nlocal.env\n")
    Path(scene.repository, "local.env").write_text("A=1\n")
    inner = Path(scene.repository, "vendor/lib")
    inner.mkdir(parents=True)
    scene.git("init", "--quiet", cwd=str(inner))
    scene.git("commit", "--quiet", "--allow-empty", "--message=inner", cwd=str(inner))
    with scene.fleet() as fleet:
        scene.shows(fleet, scene.dispatch(fleet, "t", "sh", "-c", "echo begun; exec sleep 1000"), "begun")
    assert (scene.tree("t") / "local.env").read_text() == "A=1\n"
    assert not (scene.tree("t") / "vendor").exists()


@pytest.mark.req("ADO-11", "SWEEP-7")
def test_a_worktree_with_work_in_a_submodule_is_kept_and_listed_and_its_removal_is_not_begun(scene):
    scene.forgiven = {"worktree", "claim work", "journal", "workers", "lock"}
    tree = scene.tree("t")
    with scene.fleet() as fleet:
        scene.killed(fleet, "t")
        add = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", scene.repository, "lib")
        scene.git(*add, cwd=str(tree))
        scene.git("commit", "--quiet", "--message=Add lib", cwd=str(tree))
        scene.git("commit", "--quiet", "--allow-empty", "--message=own", cwd=str(tree / "lib"))
        scene.git("commit", "--quiet", "--all", "--message=Move lib", cwd=str(tree))
        fleet.tasks.archive(project="p", slug="t")
        fleet.sweep.run(kill=True)
        assert any(
            "another repository in it, with work that may be nowhere else: lib" in line
            for line in standing(fleet.sweep.run(kill=True))
        )
        assert claim_of(fleet, "worktree", slug="t").state == "live"
    assert (tree / "lib/README").exists()
