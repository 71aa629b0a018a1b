"""Who commits in a worktree, told by variables to a program that hides git's configuration from its tools."""

import os
import subprocess

import pytest

from fleet.engines.reader import engine
from fleet.world.funnel import Funnel
from fleet.world.git.checkout import committer
from fleet.world.git.git import Git
from fleet.world.process.programs import Programs


@pytest.fixture
def repository(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    path = tmp_path / "repository"
    subprocess.run(["git", "init", "--quiet", str(path)], check=True)
    return path


def asked(repository) -> dict[str, str]:
    return committer(Git(Programs(Funnel())), str(repository))


@pytest.mark.req("ENG-4")
def test_a_commit_made_with_nothing_else_bears_the_persons_name(repository, tmp_path):
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Ada L\n\temail = ada@example.org\n")
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"} | asked(repository)
    git = ["git", "-C", str(repository)]
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message", "x"], env=env, check=True)
    said = subprocess.run(
        [*git, "log", "--format=%an <%ae> %cn <%ce>"], env=env, check=True, capture_output=True, text=True
    )
    assert said.stdout == "Ada L <ada@example.org> Ada L <ada@example.org>\n"


@pytest.mark.req("ENG-4")
def test_the_repositorys_own_word_comes_last(repository, tmp_path):
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    subprocess.run(["git", "-C", str(repository), "config", "user.email", "work@example.org"], check=True)
    assert asked(repository)["GIT_COMMITTER_EMAIL"] == "work@example.org"


@pytest.mark.req("ENG-4")
def test_who_was_never_named_is_not_invented(repository, tmp_path):
    assert asked(repository) == {}
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Ada\n")
    assert asked(repository) == {}


@pytest.mark.req("ENG-4")
def test_gemini_is_told():
    assert engine("", "gemini").committer
    assert not engine("", "codex").committer
