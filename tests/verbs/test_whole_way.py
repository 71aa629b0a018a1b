"""A task's whole way, and a coordinator's tick, over the simulated world."""

import os

import pytest

from fleet.errors.absent import NoSuchDispatch
from fleet.errors.families import Superseded
from fleet.errors.refused import IllegalStep
from fleet.errors.superseded import NotSeated
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.journal import recorded_dispatch
from fleet.verbs.dispatch.plan import Wanted

COORDINATOR = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))


def seated(scene: SimulatedScene) -> str:
    ident = str(scene.fleet.coord.start(COORDINATOR).id)
    scene.launch(ident)
    return ident


def test_dispatch_launch_report_settle_and_merge(scene):
    ident = scene.dispatch("a")
    assert scene.fleet.context.dispatch(ident).exec_state == "pending"
    agent = scene.launch(ident)
    assert (agent.environment["FLEET_DISPATCH_ID"], agent.words) == (ident, ("sleep", "1000"))
    commit = scene.commit("a")
    scene.report(ident, "a")
    assert scene.fleet.sessions.settle(ident).why == "its process is alive"
    scene.exit(ident)
    assert scene.machine.started == [("settle", "--hint", f"fleet-{ident}")]
    assert scene.fleet.sessions.settle(ident).as_json() == {
        "id": ident,
        "settled": True,
        "exec_state": "done",
        "left": [],
    }
    assert scene.fleet.merge.task(project=PROJECT, slug="a").changed
    assert scene.git("merge-base", "--is-ancestor", commit, "fleet/main") == ""
    assert scene.fleet.tasks.show(project=PROJECT, slug="a").status == "done"
    assert scene.machine.servers == {}  # it went with its last session
    assert [each for each in scene.fleet.sweep.run(kill=True) if each.done] == []


def test_a_scene_adds_the_task_that_it_dispatches_unless_there_is_one_of_this_very_name(scene):
    scene.fleet.tasks.add(project=PROJECT, title="another", slug="t1")
    ident = scene.dispatch("t")
    assert scene.fleet.context.dispatch(ident).slug == "t"
    scene.fleet.tasks.add(project=PROJECT, title="over", slug="old")
    scene.fleet.tasks.abandon(project=PROJECT, slug="old")
    scene.fleet.tasks.archive(project=PROJECT, slug="old")
    with pytest.raises(IllegalStep):
        scene.dispatch("old")


def test_an_agent_abandons_its_own_task_and_its_end_changes_nothing_more(scene):
    ident = scene.work("a")
    with scene.speaking(ident) as fleet:
        assert fleet.tasks.abandon(project=PROJECT, slug="a", reason="not wanted").status == "abandoned"
        assert not fleet.tasks.abandon(project=PROJECT, slug="a", reason="not wanted").changed
    scene.exit(ident)
    assert scene.fleet.sessions.settle(ident).settled
    task = scene.fleet.tasks.show(project=PROJECT, slug="a")
    assert (task.status, task.reason, task.assignee) == ("abandoned", "not wanted", ident)
    assert [each for each in scene.fleet.sweep.run(kill=True) if each.done] == []


def test_a_tick_of_the_coordinator_settles_the_dead_and_has_them_merged_and_nobody_else_ticks(scene):
    coordinator = seated(scene)
    ident = scene.work("a")
    scene.commit("a")
    scene.report(ident, "a")
    with scene.speaking(ident) as worker, pytest.raises(NotSeated):
        worker.coord.tick(PROJECT)
    scene.exit(ident)
    with scene.speaking(coordinator) as fleet:
        told = fleet.coord.tick(PROJECT)
    assert told.troubles == []
    assert f"{ident} (worker of a): ended done" in told.done
    assert scene.machine.started[-1] == ("merge", "a", "-p", PROJECT)
    assert scene.fleet.merge.task(project=PROJECT, slug="a").changed


def test_a_session_that_comes_too_late_finds_its_dispatch_ended(scene):
    ident = scene.dispatch("a")
    late = scene.open(actor=None, process=scene.pane(ident).process)
    assert scene.fleet.dispatches.kill(ident, "a test").settled
    with pytest.raises(Superseded):
        late.sessions.launch(ident)


def test_an_archived_journal_is_read_as_the_dispatch_that_it_was(scene):
    ident = scene.work("a")
    row = scene.fleet.context.dispatch(ident)
    scene.fleet.dispatches.kill(ident, "a test")
    scene.fleet.tasks.archive(project=PROJECT, slug="a")
    scene.fleet.sweep.run(kill=True)
    with pytest.raises(NoSuchDispatch):
        scene.fleet.context.dispatch(ident)
    old = recorded_dispatch(scene.fleet.context, ident)
    assert (old.exec_state, old.recl_state, old.asked_for) == ("failed", "complete", "kill")
    assert row.launched_at <= old.ended_at <= old.updated_at
    ended = {name: getattr(old, name) for name in ("exec_state", "recl_state", "updated_at", "ended_at", "exit_status")}
    asked = {name: getattr(old, name) for name in ("asked_at", "asked_for", "asked_reason", "blocked_reason")}
    assert old == row.replaced(**ended, **asked, settled_commit=old.settled_commit)


def test_a_scene_leaves_nothing_behind():
    with SimulatedScene() as scene:
        scene.work("a")
        root = scene.root
    assert not os.path.exists(root)
