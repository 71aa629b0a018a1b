"""What an engine's sandbox must let be written: named in its file, filled in when an agent is launched, and no more than that."""

import json
import subprocess
from pathlib import Path

import pytest

from fleet.engines.command import Filling, needs_git_dirs, words
from fleet.engines.reader import engine, read
from fleet.testing.scene import PROJECT, Scene
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.funnel import Funnel
from fleet.world.git.checkout import commit_dirs
from fleet.world.git.git import Git
from fleet.world.process.programs import Programs

SANDBOXED = """
summary = "tells its words"
program = "sh"
start = ["{program}", "-c", 'printf "%s\\n" "$@" > words.txt; fleet done', "sh", "{autonomy}", "{prompt_file}"]

[autonomy]
ask = []
edits = ["--json", '{{"home": "{fleet_home}"}}', "--dir={git_dir}"]
"""


def filling(**more) -> Filling:
    return Filling(program="/bin/agent", prompt="go", prompt_file="/p.md", **more)


def git(where: Path, *given: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
    return subprocess.run(["git", *who, *given], cwd=where, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "repository")
    git(tmp_path / "repository", "commit", "--quiet", "--allow-empty", "--message=first")
    git(tmp_path / "repository", "worktree", "add", "--quiet", "-b", "worker/t", tmp_path / "tree")
    return tmp_path / "tree"


def dirs_of(path: Path) -> tuple[str, ...]:
    return commit_dirs(Git(Programs(Funnel())), str(path))


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    found = {str(path): path.lstat() for path in folder.rglob("*") if not path.is_dir()}
    return {path: (status.st_mtime_ns, status.st_ino) for path, status in found.items()}


@pytest.mark.req("ENG-4")
@pytest.mark.parametrize("packed", [False, True], ids=["loose refs", "packed refs"])
def test_a_commit_in_a_worktree_writes_nowhere_else(worktree, packed):
    repository = worktree.parent / "repository"
    if packed:
        git(repository, "pack-refs", "--all", "--prune")
        assert not (repository / ".git/refs/heads/worker").exists()
    allowed = dirs_of(worktree)
    before = stamps(repository / ".git")
    (worktree / "new.txt").write_text("new\n", encoding="utf-8")
    git(worktree, "add", ".")
    git(worktree, "commit", "--quiet", "--message=work")
    changed = [path for path, stamp in stamps(repository / ".git").items() if before.get(path) != stamp]
    assert len(changed) > 5
    assert [path for path in changed if not path.startswith(tuple(f"{each}/" for each in allowed))] == []


@pytest.mark.req("ENG-4")
def test_what_git_would_run_or_obey_is_not_among_them(worktree):
    common = worktree.parent / "repository/.git"
    for name in ("", "config", "hooks/pre-commit", "info/attributes", "worktrees", "refs/tags", "packed-refs"):
        path = str(common / name)
        assert [each for each in dirs_of(worktree) if f"{path}/".startswith(f"{each}/")] == []


@pytest.mark.req("ENG-4")
def test_the_main_checkout_itself_is_never_opened(worktree, tmp_path):
    assert dirs_of(worktree.parent / "repository") == ()
    assert dirs_of(tmp_path) == ()


@pytest.mark.req("ENG-4")
@pytest.mark.parametrize("autonomy", ["edits", "allowlist"])
@pytest.mark.parametrize("resume", [False, True], ids=["start", "resume"])
def test_the_sandbox_of_codex_is_opened_for_the_home_and_for_gits_directories(autonomy, resume):
    codex = engine("", "codex")
    made = words(codex, filling(autonomy=autonomy, fleet_home="/h", git_dirs=("/r/a", "/r/b")), resume=resume)
    assert [word for word in made if word.startswith("--add-dir")] == [
        "--add-dir=/h",
        "--add-dir=/r/a",
        "--add-dir=/r/b",
    ]
    assert needs_git_dirs(codex, autonomy)


@pytest.mark.req("SEC-6")
@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode"])
def test_no_hook_runs_outside_a_sandbox_that_may_write_what_the_hook_reads(name):
    its = engine("", name)
    opened = {autonomy for autonomy, given in its.autonomy.items() if "{fleet_home}" in str(given)}
    assert its.hooks is None or not opened & set(its.hooks.at or its.autonomy)


@pytest.mark.req("ENG-4")
@pytest.mark.parametrize("autonomy", ["ask", "full", None])
def test_nothing_is_opened_where_there_is_no_sandbox_or_nothing_may_be_written(autonomy):
    codex = engine("", "codex")
    assert "add-dir" not in str(words(codex, filling(autonomy=autonomy, fleet_home="/h", git_dirs=("/r/a",))))
    assert not needs_git_dirs(codex, autonomy)


@pytest.mark.req("ENG-4")
def test_what_is_filled_in_is_not_filled_in_again(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(SANDBOXED, encoding="utf-8")
    made = words(read(path), filling(autonomy="edits", fleet_home="/{git_dir}/}}", git_dirs=("/{fleet_home}",)))
    assert made[4:7] == ["--json", '{"home": "/{git_dir}/}}"}', "--dir=/{fleet_home}"]


@pytest.mark.req("ENG-4")
def test_a_launched_agent_is_told_the_real_ones(tmux):
    with Scene() as scene:
        own = Path(scene.home, "engines", "mine.toml")
        own.parent.mkdir()
        own.write_text(SANDBOXED, encoding="utf-8")
        with scene.fleet() as fleet:
            fleet.tasks.add(project=PROJECT, title="t", slug="t")
            tree = fleet.dispatches.start(Wanted(project=PROJECT, slug="t", engine="mine", autonomy="edits")).worktree
            while any(not agent.report for agent in fleet.agents.list()):
                fleet.clock.wait(0.05)
        flag, home, *dirs, _prompt = Path(tree, "words.txt").read_text(encoding="utf-8").splitlines()
        assert (flag, json.loads(home)) == ("--json", {"home": scene.home})
        assert dirs == [f"--dir={each}" for each in dirs_of(Path(tree))]
        assert f"--dir={scene.repository}/.git/worktrees/t" in dirs
