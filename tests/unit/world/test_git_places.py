"""git's own files: where a repository keeps them, whose its locks are, and names in no known writing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fleet.errors.tools import GitRefused
from fleet.world.funnel import Funnel
from fleet.world.git import branch_in_use, locks, refs
from fleet.world.git.git import Git
from fleet.world.git.refs import git_dir
from fleet.world.git.worktrees import worktree_status
from fleet.world.git.worktrees.remove import restore_missing
from fleet.world.process.programs import Programs


def git(path: Path, *words: str | bytes) -> None:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@a", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@a"}
    subprocess.run(["git", *words], cwd=path, env=os.environ | who, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path) -> Path:
    path = tmp_path / "repository"
    path.mkdir()
    git(path, "init", "--quiet", "--initial-branch=main")
    git(path, "commit", "--quiet", "--allow-empty", "--message=first")
    return path


def test_a_folder_named_objects_makes_no_checkout_a_bare_repository(repository, tmp_path):
    (repository / "objects").mkdir()
    assert git_dir(str(repository)) == f"{repository}/.git"
    git(tmp_path, "init", "--quiet", "--bare", "bare")
    assert git_dir(f"{tmp_path}/bare") == f"{tmp_path}/bare"


@pytest.fixture
def at_work(tmp_path, repository):
    """A git that works in another worktree of the repository."""
    tree, program = tmp_path / "tree", tmp_path / "git"
    git(repository, "worktree", "add", "--quiet", str(tree))
    shutil.copy(shutil.which("sleep"), program)
    with subprocess.Popen([program, "1000"], cwd=tree) as child:
        yield child
        child.kill()


@pytest.mark.req("ADO-12")
@pytest.mark.parametrize("name", ["packed-refs.lock", "refs/heads/main.lock"])
def test_a_lock_of_the_repository_stays_while_a_git_works_in_any_of_its_trees(repository, at_work, name):
    lock = repository / ".git" / name
    lock.touch()
    said = f"fatal: Unable to create '{lock}': File exists."
    assert (locks._free_named_lock(said, str(repository), lambda: True, Funnel()), lock.exists()) == (False, True)
    at_work.kill()
    at_work.wait()
    assert (locks._free_named_lock(said, str(repository), lambda: True, Funnel()), lock.exists()) == (True, False)


@pytest.mark.req("ADO-12")
def test_a_lock_of_one_index_does_not_wait_for_a_git_in_another_tree(repository, at_work):
    lock = repository / ".git" / "index.lock"
    lock.touch()
    assert locks._free_named_lock(
        f"fatal: Unable to create '{lock}': File exists.", str(repository), lambda: True, Funnel()
    )


@pytest.mark.req("ADO-10")
def test_a_missing_file_whose_name_is_in_no_known_writing_is_restored(repository):
    name = os.fsencode(repository) + b"/caf\xe9.txt"
    with open(name, "wb") as file:
        file.write(b"hello\n")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message=odd")
    os.unlink(name)
    restore_missing(Git(Programs(Funnel())), str(repository))
    with open(name, "rb") as file:
        assert file.read() == b"hello\n"


SECRET = "what the agent cannot read"


@pytest.fixture
def entry(tmp_path) -> Path:
    """The entry of a worktree whose file is edited, and whose index hides that."""

    def git(*words: str, cwd: Path) -> None:
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@x", *words], cwd=cwd, check=True)

    repository = tmp_path / "repository"
    repository.mkdir()
    git("init", "--quiet", ".", cwd=repository)
    (repository / "f").write_text("x")
    git("add", "f", cwd=repository)
    git("commit", "--quiet", "--message", "x", cwd=repository)
    git("worktree", "add", "--quiet", "-b", "worker/t", str(tmp_path / "tree"), cwd=repository)
    (tmp_path / "tree/f").write_text("edited")
    git("update-index", "--assume-unchanged", "f", cwd=tmp_path / "tree")
    return repository / ".git/worktrees/tree"


@pytest.mark.req("SEC-3")
def test_a_link_in_the_place_of_an_index_is_not_copied_to_where_an_agent_reads(entry, tmp_path):
    secret, copied = tmp_path / "secret", []
    secret.write_text(SECRET)
    git = Git(Programs(Funnel()))

    def ask(effect, path, /, *words, **named):
        copied.extend(each.read_text(errors="replace") for each in entry.glob("index.*.fleet"))
        done = git.run_in(effect, path, effect, *words)
        if effect == "rev-parse":  # the agent is quick
            (entry / "index").unlink()
            (entry / "index").symlink_to(secret)
        return done

    assert worktree_status.hidden_edits(ask, str(tmp_path / "tree"), Funnel()) is None
    assert copied == []
    assert not list(entry.glob("*.fleet"))


@pytest.mark.timeout(20)
@pytest.mark.req("SEC-3")
def test_nobody_waits_at_a_pipe_in_the_place_of_head_or_a_branch(entry, tmp_path):
    assert refs.head_commit(str(tmp_path / "tree")) is not None
    branch = entry.parent.parent / "refs/heads/worker/t"
    branch.unlink()
    os.mkfifo(branch)
    assert refs.head_commit(str(tmp_path / "tree")) is None
    (entry / "HEAD").unlink()
    os.mkfifo(entry / "HEAD")
    assert refs.head_of(str(tmp_path / "tree")) is None
    (entry / "rebase-merge").mkdir()
    os.mkfifo(entry / "rebase-merge/head-name")
    assert not branch_in_use._is_branch_named_in(str(entry), "worker/t")


def refuses_to_tell(*_asked: str) -> str:
    raise GitRefused(what="say which branch is checked out", why="no answer")


@pytest.mark.req("MERGE-6")
@pytest.mark.parametrize("what", ["head", "entries"])
def test_a_branch_of_which_git_cannot_tell_whether_it_is_in_use_is_not_called_free(repository, monkeypatch, what):
    git_of_ours = Git(Programs(Funnel()))
    assert branch_in_use.holders(git_of_ours, str(repository), "main") != []
    if what == "head":
        git(repository, "config", "core.bare", "true")
        monkeypatch.setattr(git_of_ours, "head_branch", refuses_to_tell)
    else:
        (repository / ".git/worktrees").touch()
    assert branch_in_use.holders(git_of_ours, str(repository), "main") is None
    assert "does not say which branches" in branch_in_use.why_branch_in_use(git_of_ours, str(repository), "main")
