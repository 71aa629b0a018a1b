"""The account of the tests themselves: what survives a test fails its run, and no home is deleted unswept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from plugins import account
from staging.stage import Stage

from fleet.api.fleet import Fleet
from fleet.api.homes.sweep import Sweep

TESTS = Path(__file__).parents[2]
# Plays a test of each kind that leaves something behind, and two that do not.
INNER = """
import subprocess

from plugins import account
import pytest

account.PATIENCE = 0.2


def linger(env):
    subprocess.run(["setsid", "--fork", "sleep", "1000"], env=env, check=True)


def test_a_scene_that_is_clean(scene):
    with scene.fleet() as fleet:
        scene.launched(fleet, scene.dispatch(fleet, "t", "sleep", "1000"))


def test_a_scene_that_leaves_a_process(scene):
    linger(scene.around())


def test_a_home_that_is_clean(home):
    assert not home.exists()


def test_a_home_that_leaves_a_process(home):
    linger({"FLEET_HOME": str(home), "PATH": "/usr/bin:/bin"})
"""


def a_process(stage: Stage) -> None:
    """Of the same home, started by nobody we know of."""
    subprocess.run(["setsid", "--fork", "sleep", "1000"], env=stage.around(), check=True)


def a_server(stage: Stage) -> None:
    """Not the one that fleet looks at."""
    words = ["tmux", "-S", f"{stage.root}/another.sock", "new-session", "-d", "sleep", "1000"]
    subprocess.run(words, env=stage.around(), check=True)


def a_session(stage: Stage) -> None:
    with stage.fleet() as fleet:
        fleet.world.tmux.ensure_server()
    stage.tmux("new-session", "-d", "-s", "stray", "sleep", "1000")


def a_worktree(stage: Stage) -> None:
    stage.git("worktree", "add", "--quiet", f"{stage.home}/projects/p/worktrees/stray")


def a_directory(stage: Stage) -> None:
    os.makedirs(f"{stage.home}/projects/p/workers/stray")


@pytest.mark.req("SWEEP-11")
@pytest.mark.parametrize(
    ("leave", "named"),
    [
        (a_process, r"process \d+: sleep 1000"),
        (a_server, r"process \d+: tmux"),
        (a_session, "session stray"),
        (a_worktree, "worktree .*stray"),
        (a_directory, "workers/stray"),
    ],
)
def test_what_a_scene_leaves_behind_fails_it_by_name_and_is_ended_all_the_same(monkeypatch, leave, named):
    monkeypatch.setattr(account, "PATIENCE", 0.2)
    stage = Stage()
    leave(stage)
    with pytest.raises(AssertionError, match=named):
        stage.end()
    assert account.processes_of(stage.home) == []
    assert not os.path.exists(stage.root)


@pytest.mark.req("SWEEP-11")
def test_a_scene_is_swept_before_it_is_deleted(monkeypatch):
    swept = []
    run = Sweep.run

    def watched(part, *, kill: bool, **how):
        home = part._by.home
        swept.append((home, kill, os.path.isdir(home)))
        return run(part, kill=kill, **how)

    monkeypatch.setattr(Sweep, "run", watched)
    stage = Stage()
    with stage.fleet() as fleet:
        stage.killed(fleet, "t")
    stage.end()
    assert set(swept) == {(stage.home, True, True)}
    assert not os.path.exists(stage.root)


@pytest.mark.req("SWEEP-11")
def test_every_other_home_is_swept_before_it_is_deleted(tmp_path):
    home = tmp_path / "home"
    with Fleet.open(str(home), actor="ann") as fleet:
        fleet.world.tmux.ensure_server()
        assert account.processes_of(str(home)) != []
    assert account.closed(home) == [], "the empty server went with the sweep"


@pytest.mark.req("SWEEP-11")
def test_a_test_that_leaves_a_process_behind_fails_its_run(tmp_path):
    (tmp_path / "test_inner.py").write_text(INNER)
    words = [
        "-q",
        "-rE",
        "-p",
        "conftest",
        "-p",
        "staging.fixtures",
        "-c",
        os.devnull,
        f"--rootdir={tmp_path}",
        str(tmp_path),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    errors = sorted(line.split("::")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("ERROR "))
    assert errors == ["test_a_home_that_leaves_a_process", "test_a_scene_that_leaves_a_process"], done
    assert done.returncode == 1
