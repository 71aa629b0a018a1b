"""Submodules, over the simulated world with a real git: worktrees get them as the checkout has them, and go when clean."""

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from fleet.errors.refused import SubmoduleMissing
from fleet.errors.tools import GitRefused
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.tasks.edit import Edit
from fleet.world.git.nested import remove
from fleet.world.git.nested.populate import populate
from fleet.world.git.nested.repositories import has_submodules
from fleet.world.home import paths

TASK = {"project": PROJECT, "slug": "t"}
FILE = ("-c", "protocol.file.allow=always")
WHO = ("-c", "user.name=a", "-c", "user.email=a@localhost")


def make(scene, name: str) -> str:
    """A repository beside the scene's, with one file."""
    path = f"{scene.root}/{name}"
    os.mkdir(path)
    scene.git("init", "--quiet", "--initial-branch=main", cwd=path)
    return commit(scene, path, name)


def commit(scene, path: str, name: str, text: str = "text\n") -> str:
    Path(path, name).write_text(text)
    scene.git("add", name, cwd=path)
    scene.git(*WHO, "commit", "--quiet", "--message=more", cwd=path)
    return path


@pytest.fixture
def checkout(scene) -> str:
    """The user's checkout, with a submodule `lib` that has the submodule `inner`; their remotes cannot be reached."""
    inner, lib = make(scene, "inner-origin"), make(scene, "lib-origin")
    scene.git(*FILE, "submodule", "--quiet", "add", inner, "inner", cwd=lib)
    scene.git(*WHO, "commit", "--quiet", "--message=inner", cwd=lib)
    scene.git("reset", "--hard", "--quiet")
    scene.git(*FILE, "submodule", "--quiet", "add", lib, "lib")
    scene.git(*FILE, "submodule", "--quiet", "update", "--init", "--recursive")
    scene.git("commit", "--quiet", "--message=lib")
    for each in (inner, lib):
        os.rename(each, f"{each}-away")
    return scene.repository


def tree_of(scene) -> str:
    return f"{scene.home}/{paths.worktree(PROJECT, 't')}"


def worked(scene) -> str:
    """Let an agent come and go; return its worktree."""
    ident = scene.work("t")
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    return tree_of(scene)


def archived(scene) -> list[str]:
    """Archive the task and sweep; return what stands."""
    archive(scene)
    return swept(scene)


def archive(scene) -> None:
    scene.fleet.tasks.abandon(**TASK, reason="test")
    scene.fleet.tasks.archive(**TASK)


def swept(scene) -> list[str]:
    """Sweep twice; return what stands."""
    scene.fleet.sweep.run(kill=True)
    return [each.why for each in scene.fleet.sweep.run(kill=True) if each.standing]


def refs(scene) -> list[str]:
    return scene.git("for-each-ref", "--format=%(refname)", "refs/fleet/kept").split()


def test_a_worktree_has_the_submodules_of_the_checkout_without_the_network(scene, checkout):
    scene.work("t")
    tree = tree_of(scene)
    assert Path(tree, "lib/lib-origin").exists()
    assert Path(tree, "lib/inner/inner-origin").exists()
    assert scene.git("status", "--porcelain", cwd=tree) == ""
    assert scene.git("status", "--porcelain", cwd=checkout) == ""
    # The agent's copies have the addresses of the checkout's, for whoever pushes.
    for place in ("lib", "lib/inner"):
        address = ("config", "remote.origin.url")
        assert scene.git(*address, cwd=f"{tree}/{place}") == scene.git(*address, cwd=f"{checkout}/{place}")


def test_submodules_that_the_checkout_does_not_have_are_left_out(scene, checkout):
    scene.git("submodule", "--quiet", "deinit", "--force", "lib")
    scene.work("t")
    assert os.listdir(f"{tree_of(scene)}/lib") == []


def test_a_project_can_do_without_submodules(scene, checkout):
    Path(checkout, "fleet.toml").write_text('worktree.submodules = "none"\n')
    scene.work("t")
    assert os.listdir(f"{tree_of(scene)}/lib") == []


def test_a_commit_that_is_nowhere_to_be_had_stops_the_agent_and_says_so(scene, checkout):
    scene.git("update-index", "--cacheinfo", f"160000,{'1' * 40},lib")
    scene.git("commit", "--quiet", "--message=unknown")
    ident = scene.dispatch("t")
    with pytest.raises(SubmoduleMissing) as error:
        scene.launch(ident)
    assert "submodule lib cannot be checked out at 1111" in str(error.value)
    assert "worktree.submodules" in error.value.hint


def test_half_a_clone_of_a_killed_git_is_made_anew(scene, checkout):
    tree = worked(scene)
    entry = scene.git("rev-parse", "--absolute-git-dir", cwd=tree)
    shutil.rmtree(f"{tree}/lib")
    os.mkdir(f"{tree}/lib")
    shutil.rmtree(f"{entry}/modules/lib/objects")
    populate(scene.fleet.world.git, checkout, tree)
    assert Path(tree, "lib/inner/inner-origin").exists()
    assert scene.git("status", "--porcelain", cwd=tree) == ""


def test_another_worktrees_commit_of_a_submodule_is_found_there(scene, checkout):
    tree = worked(scene)
    commit(scene, f"{tree}/lib", "more")
    scene.git("commit", "--quiet", "--all", "--message=more of lib", cwd=tree)
    other = f"{scene.root}/other"
    scene.git("worktree", "add", "--quiet", "--detach", other, "worker/t")
    populate(scene.fleet.world.git, checkout, other)
    assert Path(other, "lib/more").exists()


def test_verify_finds_the_submodules_of_the_merged_work(scene, checkout):
    ident = scene.work("t")
    commit(scene, f"{tree_of(scene)}/lib", "more")
    scene.git("commit", "--quiet", "--all", "--message=more of lib", cwd=tree_of(scene))
    scene.report(ident, "t")
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    scene.fleet.tasks.edit(Edit(**TASK, verify="test -e lib/more && test -e lib/inner/inner-origin"))
    assert scene.fleet.merge.task(**TASK).changed


@pytest.mark.req("ADO-11")
def test_a_clean_worktree_with_submodules_goes_whole(scene, checkout):
    tree = worked(scene)
    assert archived(scene) == []
    assert not os.path.exists(tree)
    assert not Path(checkout, ".git/worktrees").exists()
    assert Path(checkout, "lib/inner/inner-origin").exists()


def edit(scene, tree):
    Path(tree, "lib/lib-origin").write_text("edited\n")


def add(scene, tree):
    Path(tree, "lib/inner/new").write_text("new\n")


def commit_detached(scene, tree):
    commit(scene, f"{tree}/lib", "more")
    scene.git("commit", "--quiet", "--all", "--message=more of lib", cwd=tree)


def commit_and_leave(scene, tree):
    """Only the reflog of the submodule names the commit."""
    commit(scene, f"{tree}/lib", "more")
    scene.git("submodule", "--quiet", "update", "--force", "lib", cwd=tree)


def unlink(scene, tree):
    os.unlink(f"{tree}/lib/.git")
    Path(tree, "lib/new").write_text("new\n")


@pytest.mark.req("ADO-11", "SWEEP-7")
@pytest.mark.parametrize("work", [edit, add, commit_detached, commit_and_leave, unlink])
def test_work_in_a_submodule_that_is_nowhere_else_keeps_the_worktree(scene, checkout, work):
    tree = worked(scene)
    work(scene, tree)
    before = sorted(map(str, Path(tree).rglob("*")))
    assert any("another repository in it, with work that may be nowhere else: lib" in why for why in archived(scene))
    assert sorted(map(str, Path(tree).rglob("*"))) == before


@pytest.mark.req("ADO-11")
def test_ignored_files_of_a_submodule_are_put_into_the_trash(scene, checkout):
    tree = worked(scene)
    exclude = scene.git("rev-parse", "--git-path", "info/exclude", cwd=f"{tree}/lib")
    Path(tree, "lib", exclude).parent.mkdir(exist_ok=True)
    Path(tree, "lib", exclude).write_text("secret\n")
    Path(tree, "lib/secret").write_text("s\n")
    archived(scene)
    assert not os.path.exists(tree)
    assert [path.read_text() for path in Path(scene.home).rglob("secret")] == ["s\n"]


def test_commit_and_remove_takes_a_moved_submodule_along(scene, checkout):
    tree = worked(scene)
    older = scene.git("rev-parse", "HEAD~1", cwd=f"{tree}/lib")
    scene.git("checkout", "--quiet", older, cwd=f"{tree}/lib")
    Path(tree, "note").write_text("note\n")
    archived(scene)
    kept = scene.fleet.sweep.keep(**TASK)
    assert (kept.left, os.path.exists(tree)) == ([], False)
    assert refs(scene) == [kept.ref]
    assert older in scene.git("ls-tree", kept.ref, "lib")


def test_a_second_try_to_commit_and_remove_makes_no_second_ref(scene, checkout, monkeypatch):
    tree = worked(scene)
    Path(tree, "note").write_text("note\n")
    archived(scene)

    def refuse(*_words, **_options):
        raise GitRefused(what="reset", why="killed")

    write = scene.fleet.world.git.write
    with monkeypatch.context() as patched:
        patched.setattr(
            scene.fleet.world.git,
            "write",
            lambda *words, **options: (refuse if "reset" in words else write)(*words, **options),
        )
        with pytest.raises(GitRefused):
            scene.fleet.sweep.keep(**TASK)
    kept = scene.fleet.sweep.keep(**TASK)
    assert refs(scene) == [kept.ref]
    assert not os.path.exists(tree)


class Interrupting:
    """Interrupts a removal before an effect, after a file of a submodule was deleted."""

    def __init__(self, effect: str, file: str) -> None:
        self.effect, self.file = effect, file

    def before(self, effect: str) -> None:
        if effect == self.effect:
            if os.path.exists(self.file):
                os.unlink(self.file)
            raise GitRefused(what=effect, why="interrupted")

    def during(self, effect: str, pid: int) -> None: ...

    def after(self, effect: str) -> None: ...


@pytest.mark.parametrize("effect", ["empty submodule", "take submodules out", "git worktree remove"])
def test_a_removal_that_was_interrupted_is_finished_by_the_next_sweep(scene, checkout, effect):
    tree = worked(scene)
    archive(scene)
    scene.fleet.world.funnel.watcher = Interrupting(effect, f"{tree}/lib/inner/inner-origin")
    swept(scene)
    scene.fleet.world.funnel.watcher = None
    assert [each.state for each in scene.fleet.claims.list(kind="worktree")] == ["releasing"]
    assert os.path.exists(tree)
    assert swept(scene) == []
    assert not os.path.exists(tree)


def test_nothing_is_taken_out_of_a_worktree_without_submodules(scene):
    tree = worked(scene)
    remove.take_out(scene.fleet.world.git, tree)
    assert not os.path.exists(scene.git("rev-parse", "--git-path", "modules.fleet-gone", cwd=tree))


@pytest.mark.parametrize("pointer", [None, "", "gitdir:"])
def test_nothing_is_taken_out_of_a_worktree_whose_git_file_says_nothing(tmp_path, monkeypatch, pointer):
    """Least of all a folder /modules of the machine."""
    if pointer is not None:
        (tmp_path / ".git").write_text(pointer)
    isdir, acts = os.path.isdir, []
    monkeypatch.setattr(os.path, "isdir", lambda path: path == "/modules" or isdir(path))
    through = SimpleNamespace(through=lambda effect, _act: acts.append(effect))
    remove.take_out(SimpleNamespace(funnel=through), str(tmp_path))
    assert acts == []
    assert not has_submodules(str(tmp_path))
