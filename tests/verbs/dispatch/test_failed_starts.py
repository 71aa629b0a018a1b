"""A failed start gives the task back; three within an hour park it, and an hour later they count no more."""

import errno
import os
from pathlib import Path

import pytest

from fleet.errors.store import WriteFailed
from fleet.errors.tools import TmuxRefused
from fleet.model.settings.table import SETTINGS
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted

WANTED = Wanted(project=PROJECT, slug="a", engine="shell", command=("sleep", "1000"))
MINUTE = 60.0


def fail_to_start(scene: SimulatedScene, fleet=None) -> tuple[str, str]:
    """Let tmux refuse one session. Return the task's status and reason."""
    fleet = fleet or scene.fleet
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fleet.world.tmux, "create", refuse)
        with pytest.raises(TmuxRefused):
            fleet.dispatches.start(WANTED)
    task = fleet.tasks.show(project=PROJECT, slug="a")
    return task.status, task.reason or ""


def refuse(*_words, **_how):
    raise TmuxRefused(what="make a session", why="refused by the test")


@pytest.mark.req("GRAPH-8")
def test_only_the_failures_of_the_last_hour_count(scene):
    scene.fleet.tasks.add(project=PROJECT, title="A", slug="a")
    assert fail_to_start(scene)[0] == "open"
    scene.clock.wait(30 * MINUTE)
    assert fail_to_start(scene)[0] == "open"
    scene.clock.wait(30 * MINUTE)
    status, reason = fail_to_start(scene)
    assert (status, reason.startswith("the last start failed: ")) == ("open", True), "the first is an hour old"
    scene.clock.wait(30 * MINUTE - 1)
    status, reason = fail_to_start(scene)
    assert (status, reason.startswith("3 failed starts within an hour, the last: ")) == ("blocked", True)
    assert scene.fleet.tasks.show(project=PROJECT, slug="a").attempts == 4


@pytest.mark.req("GRAPH-8")
def test_a_task_rests_after_a_failed_start_and_how_many_may_fail_is_a_setting(scene):
    assert next(each.default for each in SETTINGS if each.name == "limits.failed_spawns") == 3
    config = Path(scene.home, "config.toml")
    config.write_text(config.read_text().replace('spawn_cooldown = "0s"\n', "") + "[limits]\nfailed_spawns = 2\n")
    fleet = scene.open()
    fleet.tasks.add(project=PROJECT, title="A", slug="a")
    assert fail_to_start(scene, fleet)[0] == "open"
    resting = fleet.tasks.show(project=PROJECT, slug="a")
    assert (resting.assignee, resting.attempts) == (None, 1)
    scene.clock.wait(9)
    assert fleet.tasks.ready(project=PROJECT) == []
    scene.clock.wait(1)
    assert [task.slug for task in fleet.tasks.ready(project=PROJECT)] == ["a"]
    assert fail_to_start(scene, fleet)[0] == "blocked"


@pytest.mark.req("STORE-10")
def test_a_prompt_that_cannot_be_written_is_an_error_and_no_agent_is_started(scene, monkeypatch):
    fleet, rename = scene.fleet, os.rename

    def refusing(source, target, **how):
        if "/inbox/" in target:
            raise OSError(errno.ENOSPC, "No space left on device")
        rename(source, target, **how)

    fleet.tasks.add(project=PROJECT, title="A", slug="a")
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", refusing)
        with pytest.raises(WriteFailed, match="no space left on device"):
            fleet.dispatches.start(WANTED)
    assert [pane for server in scene.machine.servers.values() for pane in server.panes] == []
    assert (fleet.files.names("inbox"), fleet.files.names("environments")) == ([], [])
    assert fleet.tasks.show(project=PROJECT, slug="a").status == "open"
    assert [each.exec_state for each in fleet.dispatches.list()] == ["failed"]
    assert scene.work("a")
