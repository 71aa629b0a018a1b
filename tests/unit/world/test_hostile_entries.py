"""What an agent may make of its worktree's entry in the repository: fleet waits for nothing there, and copies no other file."""

import os
import subprocess
from pathlib import Path

import pytest

from fleet.world.funnel import Funnel
from fleet.world.git import branch_in_use, refs, worktree_status
from fleet.world.git.git import Git
from fleet.world.process.programs import Programs

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
