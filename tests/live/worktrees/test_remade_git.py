"""A `.git` that an agent has rewritten: git runs nothing that another configuration names, and the worktree is kept."""

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from fleet.testing.scene import PROJECT

TASK = {"project": PROJECT, "slug": "t"}
SAYS = "write src/a.txt hello\ncommit Add t\ndone\n"


@pytest.fixture
def finished(scene):
    """A task that is done and not merged."""
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "t", engine="scripted", script=SAYS)
        scene.ended(fleet)
        with healed(scene):
            yield fleet


@contextmanager
def healed(scene):
    """Undo what was rewritten, at the end."""
    tree = scene.tree("t")
    pointer = (tree / ".git").read_text()
    entry = Path(pointer.removeprefix("gitdir:").strip())
    yield
    for name in (".git", ".evil"):
        shutil.rmtree(tree / name, ignore_errors=True)
    (tree / ".git").write_text(pointer)
    (entry / "commondir").write_text("../..\n")


def make_evil(place: Path, tree: Path, command: str) -> None:
    """A repository whose filter runs a command as soon as anybody asks for the status of its files."""
    git = ["git", f"--git-dir={place}", f"--work-tree={tree}"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "add", "README", "src"], cwd=tree, check=True)
    subprocess.run([*git, "config", "filter.x.clean", f"touch {command}; cat"], check=True)
    subprocess.run([*git, "config", "core.bare", "false"], check=True)
    (place / "info/attributes").write_text("* filter=x\n")
    for name in ("README", "src/a.txt"):
        os.utime(tree / name, (1, 1))  # the index cannot say any more whether it is the same


def rewrite(scene, how: str, ran: Path) -> None:
    """Let the worktree's `.git`, or the entry that it names, lead to such a repository."""
    tree, pointer = scene.tree("t"), scene.tree("t") / ".git"
    evil = ran.parent / "evil" if how in {"outside", "commondir"} else tree / ".evil"
    make_evil(evil, tree, str(ran))
    if how == "directory":
        pointer.unlink()
        shutil.move(evil, pointer)
    elif how == "inside":
        pointer.write_text(f"gitdir: {evil}\n")
    elif how == "commondir":
        entry = Path(pointer.read_text().removeprefix("gitdir:").strip())
        (entry / "commondir").write_text(f"{evil}\n")
    else:
        entry = evil / "worktrees/t"
        entry.mkdir(parents=True)
        (entry / "HEAD").write_text((evil / "HEAD").read_text())
        (entry / "commondir").write_text("../..\n")
        (entry / "gitdir").write_text(f"{pointer}\n")
        shutil.copy(evil / "index", entry / "index")
        pointer.write_text(f"gitdir: {entry}\n")


def wrote(scene) -> None:
    """Leave uncommitted work in the worktree of t."""
    (scene.tree("t") / "src").mkdir(exist_ok=True)
    (scene.tree("t") / "src/a.txt").write_text("hello\n")


@pytest.mark.req("ADO-11", "SWEEP-7")
@pytest.mark.parametrize("how", ["inside", "outside", "directory", "commondir"])
@pytest.mark.parametrize("act", ["merge", "archive"])
def test_no_command_of_a_rewritten_git_runs_and_the_tree_is_kept(scene, finished, tmp_path, how, act):
    ran = tmp_path / "ran"
    rewrite(scene, how, ran)
    subprocess.run(["git", "status", "--porcelain"], cwd=scene.tree("t"), capture_output=True, check=False)
    assert ran.exists()  # the trap is set
    ran.unlink()
    for name in ("README", "src/a.txt"):
        os.utime(scene.tree("t") / name, (2, 2))
    if act == "merge":
        scene.program("merge", "t", "-p", PROJECT)
    if act == "archive":
        scene.program("task", "abandon", "t", "-p", PROJECT, "--reason", "no use")
        scene.program("task", "archive", "t", "-p", PROJECT)
    scene.program("clean")
    finished.sweep.run(kill=True)
    assert (ran.exists(), (scene.tree("t") / "src/a.txt").exists()) == (False, True)


@pytest.mark.req("ADO-11")
@pytest.mark.parametrize("how", ["inside", "outside", "directory", "commondir"])
def test_a_rewritten_git_is_not_asked_for_uncommitted_work(scene, tmp_path, how):
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "t", engine="scripted", script="done\n")
        scene.ended(fleet)
        wrote(scene)
        with healed(scene):
            rewrite(scene, how, tmp_path / "ran")
            said = scene.program("merge", "t", "-p", PROJECT)
        (scene.tree("t") / "src/a.txt").unlink()
        assert not (tmp_path / "ran").exists()
        assert (said.code != 0, "git does not say" in said.out + said.err) == (True, True)


@pytest.mark.req("ADO-11")
def test_no_command_of_a_repository_in_the_index_of_a_worktree_runs_on_merge(scene, tmp_path):
    ran = tmp_path / "ran"
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "t", engine="scripted", script="done\n")
        scene.ended(fleet)
        wrote(scene)
        inner = scene.tree("t") / "inner"
        inner.mkdir()
        shutil.copy(scene.tree("t") / "README", inner)
        scene.git("init", "--quiet", cwd=inner)
        scene.git("add", "README", cwd=inner)
        scene.git("commit", "--quiet", "-m", "inner", cwd=inner)
        scene.git("-c", "advice.addEmbeddedRepo=false", "add", "inner", cwd=inner.parent)
        scene.git("config", "filter.x.clean", f"touch {ran}; cat", cwd=inner)
        (inner / ".git/info/attributes").write_text("* filter=x\n")
        os.utime(inner / "README", (1, 1))
        said = scene.program("merge", "t", "-p", PROJECT)
        assert (said.code != 0, "uncommitted work" in said.err, ran.exists()) == (True, True, False)
        scene.git("rm", "--quiet", "--cached", "-f", "inner", cwd=inner.parent)
        shutil.rmtree(inner)
        (scene.tree("t") / "src/a.txt").unlink()
