"""A failed start gives the task back; three within an hour park it, and an hour later they count no more.

A task that is added together with its agent is there once: no coordinator comes in between, and its failed start is told.
"""

import errno
import os
from pathlib import Path

import pytest

from fleet import errors
from fleet.errors.store import WriteFailed
from fleet.errors.tools import TmuxRefused
from fleet.model.settings.table import SETTINGS
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch import dispatch
from fleet.verbs.dispatch.plan import Wanted

WANTED = Wanted(project=PROJECT, slug="a", engine="shell", command=("sleep", "1000"))
NEW = Wanted(project=PROJECT, slug="", engine="shell", command=("sleep", "1000"))
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


# added with its agent -----------------------------------------------------------------------------------------------------
def slugs(scene) -> list[str]:
    return sorted(task.slug for task in scene.fleet.tasks.list(project=PROJECT))


def test_a_coordinator_cannot_start_an_agent_on_the_task_before_the_one_that_was_asked_for(scene, monkeypatch):
    start, coordinator = dispatch.start, scene.open()

    def starting(context, wanted):
        assert slugs(scene) == ["fix-it"], "it is there for everybody"
        monkeypatch.setattr(dispatch, "start", start)
        with pytest.raises(errors.Contested):
            coordinator.dispatches.start(Wanted(project=PROJECT, slug="fix-it", engine="shell", command=("true",)))
        return start(context, wanted)

    monkeypatch.setattr(dispatch, "start", starting)
    made = scene.fleet.dispatches.start_new(NEW, title="Fix it")
    assert (made.task, made.engine) == ("fix-it", "shell")
    (only,) = scene.fleet.dispatches.list()
    assert only.id == made.id


@pytest.mark.req("AGENT-6")
def test_a_task_whose_agent_finds_no_room_is_said_to_be_added_and_is_there_once(on_store):
    with SimulatedScene(settings=f"{on_store}[limits]\nagents = 1\n") as scene:
        scene.fleet.dispatches.start_new(NEW, title="One")
        with pytest.raises(errors.OnlyAdded) as refusal:
            scene.fleet.dispatches.start_new(NEW, title="Two")
        assert refusal.value.code == 14
        assert "limits.agents" in str(refusal.value)
        assert refusal.value.next_step == f"`fleet dispatch two -p {PROJECT}` starts one"
        assert slugs(scene) == ["one", "two"]
        assert len(scene.fleet.dispatches.list()) == 1


@pytest.mark.req("GRAPH-5")
def test_nothing_is_added_under_a_slug_that_is_taken_or_for_an_engine_that_is_missing(scene):
    scene.fleet.tasks.add(project=PROJECT, title="One", slug="one")
    with pytest.raises(errors.SlugTaken):
        scene.fleet.dispatches.start_new(NEW, title="Another", slug="one")
    with pytest.raises(errors.FleetError):
        scene.fleet.dispatches.start_new(Wanted(project=PROJECT, slug="", engine="nonsense"), title="Another")
    assert slugs(scene) == ["one"]


@pytest.mark.req("STORE-16")
def test_a_request_that_is_repeated_adds_no_second_task_and_says_who_works_on_the_first(scene):
    for attempt in (1, 2):
        with scene.fleet.committer.under("once"):
            if attempt == 1:
                made = scene.fleet.dispatches.start_new(NEW, title="Fix it")
                continue
            with pytest.raises(errors.TaskHeld, match=made.id):
                scene.fleet.dispatches.start_new(NEW, title="Fix it")
    assert slugs(scene) == ["fix-it"]
