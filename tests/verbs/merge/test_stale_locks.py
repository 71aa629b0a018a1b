"""Locks of git that a killed agent left: the next agent's git works, and a lock that somebody holds stays."""

import os
from pathlib import Path

import pytest

from fleet.testing.simulated.scene import PROJECT
from fleet.world.home import paths

TASK = {"project": PROJECT, "slug": "a"}
NAMES = ("index.lock", "HEAD.lock", "modules/lib/index.lock")


@pytest.fixture
def entry(scene) -> Path:
    """Git's entry of the worktree of an agent that was killed."""
    ident = scene.work("a")
    scene.exit(ident, 137)
    scene.fleet.sessions.settle(ident)
    scene.fleet.tasks.retry(**TASK)
    return Path(scene.git("rev-parse", "--absolute-git-dir", cwd=f"{scene.home}/{paths.worktree(PROJECT, 'a')}"))


def leave_locks(scene, entry: Path) -> list[Path]:
    locks = [*(entry / name for name in NAMES), Path(scene.repository, ".git/refs/heads/worker/a.lock")]
    for lock in locks:
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.touch()
    return locks


def test_the_next_agent_of_the_worktree_can_commit(scene, entry):
    locks = leave_locks(scene, entry)
    scene.work("a")
    assert not any(map(os.path.exists, locks))
    assert scene.commit("a")


def test_a_lock_that_somebody_has_open_stays(scene, entry):
    locks = leave_locks(scene, entry)
    with locks[0].open():
        scene.work("a")
        assert [lock for lock in locks if lock.exists()] == [locks[0]]


def test_where_not_all_processes_can_be_seen_every_lock_stays(scene, entry, monkeypatch):
    locks = leave_locks(scene, entry)
    monkeypatch.setattr("fleet.world.process.ps.holders", lambda _lock: None)
    scene.work("a")
    assert all(lock.exists() for lock in locks)
