"""What must not be deleted with a worktree: hidden edits, ignored files that cannot be made again, repositories of somebody else."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from staging.stage import raw, standing

from fleet.errors.tools import GitRefused
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.worktree_verdict import Aside, is_disposable
from fleet.model.text.times import DAY
from fleet.store import queries as q
from fleet.testing.scene import PROJECT
from fleet.verbs.sweep import trash
from fleet.world.git.nested.keep_uncommitted import keep_dirty

TASK = {"project": PROJECT, "slug": "t"}
KEPT = {"worktree", "claim work", "journal", "workers", "lock"}


@pytest.fixture
def finished(scene):
    """A task that is done and not merged, in a repository that ignores secrets, logs and what builds make."""
    Path(scene.repository, ".git/info/exclude").write_text(".env\nlogs/\nnode_modules/\nvendor/\nbuild/\n*.local\n")
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "t", engine="scripted", script="write src/a.txt hello\ncommit Add t\ndone\n")
        scene.ended(fleet)
        yield fleet


def hide(scene, flag: str) -> Path:
    """An edit that git does not see."""
    file = scene.tree("t") / "README"
    scene.git("update-index", f"--{flag}", "README", cwd=file.parent)
    file.write_text("precious\n")
    assert scene.git("status", "--porcelain", cwd=file.parent) == ""
    return file


def trash_of(fleet) -> list[Path]:
    rows = fleet.store.read(lambda snapshot: q.trash_of_task(snapshot, **TASK, home=fleet.world.tmux.home_id))
    return [Path(fleet.home, row.name) for row in rows]


@pytest.mark.req("ADO-11", "SWEEP-7")
@pytest.mark.parametrize("flag", ["skip-worktree", "assume-unchanged"])
def test_an_edit_hidden_from_git_keeps_the_tree_and_is_committed_with_the_rest(scene, finished, flag):
    file = hide(scene, flag)
    assert any("README" in each for each in finished.merge.task(**TASK).left)
    assert any("README" in line and flag in line for line in standing(finished.sweep.run(kill=True)))
    assert file.read_text() == "precious\n"
    kept = finished.sweep.keep(**TASK)
    assert scene.git("show", f"{kept.ref}:README") == "precious"
    assert (kept.left, file.exists()) == ([], False)


@pytest.mark.req("ADO-11")
def test_flagged_files_that_nobody_changed_or_that_are_absent_hold_nothing_up(scene, finished):
    tree = scene.tree("t")
    scene.git("update-index", "--skip-worktree", "README", cwd=tree)
    scene.git("update-index", "--assume-unchanged", "src/a.txt", cwd=tree)
    (tree / "README").unlink()
    os.utime(tree / "src/a.txt")
    assert (finished.merge.task(**TASK).left, tree.exists()) == ([], False)


@pytest.mark.req("ADO-11")
def test_ignored_files_that_cannot_be_made_again_are_put_aside_and_said_and_no_ref_has_them(scene, finished):
    tree = scene.tree("t")
    (tree / ".env").write_text("secret")
    (tree / "logs/deep").mkdir(parents=True)
    (tree / "logs/deep/run").write_text("a run")
    (tree / "node_modules/x").mkdir(parents=True)
    (tree / "node_modules/x/index.js").write_text("x")
    said = scene.program("merge", "t", "-p", PROJECT).ok().out
    [folder] = trash_of(finished)
    assert f"2 ignored files of t were put aside in {folder}, kept until " in said
    assert not tree.exists()
    assert ((folder / ".env").read_text(), (folder / "logs/deep/run").read_text()) == ("secret", "a run")
    assert not (folder / "node_modules").exists()
    assert (folder.stat().st_mode & 0o777, folder.parent.stat().st_mode & 0o777) == (0o700, 0o700)
    assert ".env" not in scene.git("log", "--all", "--name-only", "--format=")
    assert any(folder.name in line for line in standing(finished.sweep.run(kill=True))), "clean lists it"
    assert folder.exists()


@pytest.mark.req("ADO-11")
def test_a_sweep_says_what_it_put_aside(either):
    Path(either.repository, ".git/info/exclude").write_text(".env\n")
    with either.fleet() as fleet:
        either.without_hint(fleet)
        either.killed(fleet, "t")
        (either.tree("t") / ".env").write_text("secret")
        fleet.tasks.archive(**TASK)
        assert any("1 ignored files put aside" in each.action for each in fleet.sweep.run(kill=False))
        actions = [each.action for each in fleet.sweep.run(kill=True)]
        [folder] = trash_of(fleet)
        assert any(f"put aside in {folder}" in action for action in actions), actions
        assert ((folder / ".env").read_text(), either.tree("t").exists()) == ("secret", False)


@pytest.mark.req("ADO-11", "SWEEP-8")
def test_the_trash_is_announced_a_day_before_it_expires_and_deleted_only_after(either):
    Path(either.repository, ".git/info/exclude").write_text(".env\n")
    with either.fleet() as fleet:
        either.without_hint(fleet)
        either.killed(fleet, "t")
        (either.tree("t") / ".env").write_text("secret")
        fleet.tasks.archive(**TASK)
        fleet.sweep.run(kill=True)
        [folder] = trash_of(fleet)
        now = fleet.clock.now()
        assert not any("trash" in each for each in fleet.views.status().reclaim)
        expire(fleet, now + DAY // 2)
        assert any(folder.name in each and "expires in" in each for each in fleet.views.status().reclaim)
        fleet.sweep.run(kill=True)
        assert folder.exists()
        expire(fleet, now)
        fleet.sweep.run(kill=False)
        assert folder.exists()
        fleet.sweep.run(kill=True)
        assert (folder.exists(), trash_of(fleet)) == (False, [])


def expire(fleet, until: int) -> None:
    raw(fleet, f"UPDATE trash SET until = {until}")


@pytest.mark.req("SWEEP-3")
def test_what_is_not_in_the_trash_of_this_home_is_never_deleted_for_its_row(scene, finished):
    (scene.tree("t") / ".env").write_text("secret")
    finished.merge.task(**TASK)
    [folder] = trash_of(finished)
    theirs = Path(scene.root, "theirs")
    folder.rename(theirs)
    folder.symlink_to(theirs)
    expire(finished, 1)
    assert any("not in the trash" in each.action for each in finished.sweep.run(kill=True))
    assert (theirs / ".env").read_text() == "secret"
    folder.unlink()
    theirs.rename(folder)


@pytest.mark.req("ADO-11")
def test_files_that_fleet_copied_go_unless_somebody_changed_them(scene):
    repository = Path(scene.repository)
    (repository / ".git/info/exclude").write_text("*.local\n.worktreeinclude\n")
    (repository / ".worktreeinclude").write_text("*.local\n")
    for name in ("same", "changed"):
        (repository / f"{name}.local").write_text(name)
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "t", engine="scripted", script="write a.txt hello\ncommit Add t\ndone\n")
        scene.ended(fleet)
        assert (scene.tree("t") / "same.local").read_text() == "same"
        (scene.tree("t") / "changed.local").write_text("CHANGED")  # of the same size
        fleet.merge.task(**TASK)
        [folder] = trash_of(fleet)
        assert sorted(each.name for each in folder.iterdir()) == ["changed.local"]


@pytest.mark.req("ADO-11")
def test_a_setting_names_what_is_disposable(scene, finished):
    Path(scene.repository, "fleet.toml").write_text('[worktree]\ndisposable = [".env", "logs/*.txt"]\n')
    (scene.tree("t") / ".env").write_text("made by setup")
    (scene.tree("t") / "logs").mkdir()
    (scene.tree("t") / "logs/a.txt").write_text("a")
    (scene.tree("t") / "logs/b.md").write_text("b")
    finished.merge.task(**TASK)
    [folder] = trash_of(finished)
    assert [str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()] == ["logs/b.md"]


def test_patterns_name_a_part_of_a_path_or_a_whole_path():
    assert is_disposable("a/node_modules/x/y.js", ["node_modules"])
    assert is_disposable("a/b.pyc", ["*.pyc"])
    assert is_disposable("web/out/x", ["web/out"])
    assert not is_disposable("other/web/out/x", ["web/out"])
    assert not is_disposable("a/b", ["node_modules", "*.pyc"])


@pytest.mark.req("ADO-11")
def test_what_does_not_fit_into_the_trash_keeps_its_tree(scene, finished):
    config = Path(scene.home, "config.toml")
    config.write_text(config.read_text() + '[trash]\nlimit = "1KB"\n')
    (scene.tree("t") / ".env").write_text("x" * 2_000)
    assert any("trash.limit" in each for each in finished.merge.task(**TASK).left)
    assert (scene.tree("t") / ".env").exists()
    with pytest.raises(GitRefused, match=r"trash\.limit"):
        finished.sweep.keep(**TASK)
    (scene.tree("t") / ".env").unlink()


@pytest.mark.req("ADO-11")
def test_what_cannot_be_put_aside_keeps_its_tree(scene, finished):
    Path(scene.home, "trash").write_text("in the way")
    (scene.tree("t") / ".env").write_text("secret")
    assert any("could not be put aside" in each for each in finished.merge.task(**TASK).left)
    assert (scene.tree("t") / ".env").read_text() == "secret"
    Path(scene.home, "trash").unlink()
    finished.sweep.run(kill=True)
    assert not scene.tree("t").exists()


@pytest.mark.req("ADO-11")
def test_a_removal_that_git_refuses_puts_back_what_was_put_aside(scene, finished, monkeypatch):
    (scene.tree("t") / ".env").write_text("secret")
    with monkeypatch.context() as patch:
        patch.setenv("PATH", scene.shim("git", " worktree remove "))
        assert finished.merge.task(**TASK).left
    assert ((scene.tree("t") / ".env").read_text(), trash_of(finished)) == ("secret", [])
    finished.sweep.run(kill=True)
    assert not scene.tree("t").exists()


def counted(fleet) -> list[tuple[int, int]]:
    rows = fleet.store.read(lambda snapshot: q.trash_of_task(snapshot, **TASK, home=fleet.world.tmux.home_id))
    return [(row.files, row.bytes) for row in rows]


@pytest.mark.req("ADO-11")
def test_the_trash_counts_what_is_left_when_only_some_files_could_go_back(scene, finished):
    for name in (".env", "a.local"):
        (scene.tree("t") / name).write_text("secret")
    rows = finished.store.read(lambda snapshot: q.claims_of_bundle(snapshot, **TASK))
    [claim] = [Claim.of(row) for row in rows if row.kind == "worktree"]
    assert trash.put_aside(finished.context, claim, Aside(paths=(".env", "a.local"), files=2, size=12)) == ""
    (scene.tree("t") / ".env").write_text("newer")
    assert any("newer files" in each for each in trash.bring_back(finished.context, claim))
    assert (scene.tree("t") / "a.local").read_text() == "secret"
    assert counted(finished) == [(1, 6)]


@pytest.mark.req("ADO-11")
def test_what_was_half_moved_is_counted_when_that_is_written_down(scene, finished):
    for name in (".env", "a.local"):
        (scene.tree("t") / name).write_text("secret")
    finished.merge.task(**TASK)
    [folder] = trash_of(finished)
    (folder / "a.local").unlink()
    raw(finished, "UPDATE trash SET moved_at = NULL")  # as whoever was killed half-way leaves it
    finished.sweep.run(kill=True)
    assert counted(finished) == [(1, 6)]


def make_repository(path: Path, *, remote: str = "") -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    words = ["clone", "--quiet", remote, str(path)] if remote else ["init", "--quiet", str(path)]
    subprocess.run(["git", *words], check=True)
    if not remote:
        subprocess.run(["git", *who, "-C", path, "commit", "--quiet", "--allow-empty", "-m", "own"], check=True)


@pytest.mark.req("ADO-11", "SWEEP-7")
@pytest.mark.parametrize("place", ["src", "vendor/lib", "build/lib"])
def test_a_repository_inside_with_commits_of_its_own_keeps_the_tree(scene, finished, place):
    nested = scene.tree("t") / place
    make_repository(nested)
    assert any(place in each for each in finished.merge.task(**TASK).left)
    assert any("another repository" in line for line in standing(finished.sweep.run(kill=True)))
    with pytest.raises(GitRefused, match="another repository"):
        finished.sweep.keep(**TASK)
    assert (nested / ".git/HEAD").exists()
    shutil.rmtree(nested / ".git")


@pytest.mark.req("ADO-11")
def test_a_clone_inside_that_has_nothing_of_its_own_goes_with_what_is_around_it(scene, finished):
    make_repository(scene.tree("t") / "build/lib", remote=scene.repository)
    make_repository(scene.tree("t") / "vendor/lib", remote=scene.repository)
    assert (finished.merge.task(**TASK).left, scene.tree("t").exists()) == ([], False)
    [folder] = trash_of(finished)
    assert (folder / "vendor/lib/.git/HEAD").exists()
    assert not (folder / "build").exists()


def edit_clone(clone: Path, how: str) -> None:
    if how == "filtered":  # comparing files would run what its configuration names
        subprocess.run(["git", "-C", clone, "config", "filter.x.clean", f"touch {clone.parent}/ran; cat"], check=True)
        (clone / ".git/info/attributes").write_text("README filter=x\n")
    elif how == "staged":
        subprocess.run(["git", "-C", clone, "rm", "--quiet", "--cached", "README"], check=True)
    elif how == "flagged":
        subprocess.run(["git", "-C", clone, "update-index", "--skip-worktree", "README"], check=True)
    if how == "nested":
        make_repository(clone / "inner", remote=str(clone))
    else:
        (clone / ("new" if how == "untracked" else "README")).write_text("precious")


@pytest.mark.req("ADO-11", "SWEEP-7")
@pytest.mark.parametrize("how", ["changed", "untracked", "staged", "flagged", "filtered", "nested"])
def test_a_clone_in_a_disposable_folder_that_was_edited_keeps_the_tree(scene, finished, how):
    clone = scene.tree("t") / "build/lib"
    make_repository(clone, remote=scene.repository)
    edit_clone(clone, how)
    assert any("another repository" in each for each in finished.merge.task(**TASK).left)
    finished.sweep.run(kill=True)
    assert (clone / ".git/HEAD").exists()
    assert not (clone.parent / "ran").exists()
    shutil.rmtree(clone)


@pytest.mark.req("ADO-11", "SWEEP-7")
@pytest.mark.parametrize("edited", [True, False])
def test_an_untracked_clone_is_never_committed_as_the_name_of_a_commit(scene, finished, edited):
    clone = scene.tree("t") / "lib"
    make_repository(clone, remote=scene.repository)
    if edited:
        (clone / "README").write_text("precious")
    assert any("lib" in each for each in finished.merge.task(**TASK).left)
    assert [each.committable for each in finished.sweep.kept_trees()] == [False]
    with pytest.raises(GitRefused, match="another repository"):
        finished.sweep.keep(**TASK)
    with pytest.raises(GitRefused, match="another repository"):
        keep_dirty(finished.world.git, scene.repository, str(scene.tree("t")), "t")
    assert scene.git("for-each-ref", "refs/fleet/kept") == ""
    shutil.rmtree(clone)


@pytest.mark.req("ADO-11", "SWEEP-7")
@pytest.mark.parametrize("how", ["directory", "pointer"])
def test_a_tree_whose_git_was_made_anew_is_kept(scene, finished, how, tmp_path):
    tree = scene.tree("t")
    pointer = (tree / ".git").read_text()
    (tree / ".git").unlink()
    if how == "directory":
        make_repository(tree)
    else:
        make_repository(tmp_path)
        (tree / ".git").write_text(f"gitdir: {tmp_path}/.git\n")
    (tree / "src/a.txt").write_text("precious")
    scene.git("add", "--all", cwd=tree)
    scene.git("commit", "--quiet", "-m", "hidden", cwd=tree)
    assert finished.merge.task(**TASK).left
    finished.sweep.run(kill=True)
    assert any("made anew" in line for line in standing(finished.sweep.run(kill=True)))
    assert (tree / "src/a.txt").read_text() == "precious"
    shutil.rmtree(tree / ".git") if how == "directory" else (tree / ".git").unlink()
    (tree / ".git").write_text(pointer)
    (tree / "src/a.txt").write_text("hello\n")
    scene.git("checkout", "--quiet", ".", cwd=tree)


# killed half-way ------------------------------------------------------------------------------------------------------


@pytest.fixture
def killed_half_way(scene, request):
    """The tree of an archived task. Whoever was about to remove it was killed when it had put its ignored file aside."""
    Path(scene.repository, ".git/info/exclude").write_text(".env\n")
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        scene.killed(fleet, "t")
        (scene.tree("t") / ".env").write_text("secret")
        fleet.tasks.archive(**TASK)
        remover = scene.halted(*request.param, "sweep")
        remover.kill()
        remover.wait(60)
        yield fleet


MOMENTS = [
    ("before", "put aside"),
    ("after", "put aside"),
    ("before", "git worktree remove"),
    ("after", "git worktree remove"),
]


@pytest.mark.req("ADO-11", "STORE-6")
@pytest.mark.parametrize("killed_half_way", MOMENTS, indirect=True)
def test_a_removal_killed_around_putting_aside_is_finished_by_the_next_sweep(scene, killed_half_way):
    scene.swept(killed_half_way)
    assert not scene.tree("t").exists()
    folders = trash_of(killed_half_way)
    assert [(each / ".env").read_text() for each in folders] == ["secret"]
    assert any("trash" in line for line in standing(killed_half_way.sweep.run(kill=True)))


@pytest.mark.req("ADO-10", "ADO-11", "STORE-6")
@pytest.mark.parametrize("killed_half_way", MOMENTS[:3], indirect=True)
def test_whoever_takes_the_task_up_after_such_a_kill_has_its_ignored_files(scene, killed_half_way):
    killed_half_way.tasks.retry(**TASK)
    scene.launched(killed_half_way, scene.dispatch(killed_half_way, "t", "sleep", "1000"))
    assert (scene.tree("t") / ".env").read_text() == "secret"
    assert [each for each in trash_of(killed_half_way) if each.exists()] == []
