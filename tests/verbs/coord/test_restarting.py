"""fleet's own coordinator that has died is started again by whoever notices; one that was stopped never is."""

import shutil

import pytest

from fleet.errors.refused import NotProven
from fleet.errors.superseded import NotSeated
from fleet.model.dispatch.seat_steps import is_own_loop, may_restart
from fleet.model.text.times import MINUTE
from fleet.store import queries as q
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.coord.restart import restart_dead_loops
from fleet.verbs.dispatch.plan import Wanted

AGAIN = ("coord", "start", "-p", PROJECT)
OTHER = "other"


def seated(scene: SimulatedScene, project: str = PROJECT, engine: str = "fleet") -> str:
    """A coordinator that has run for two minutes."""
    command = ("sleep", "1000") if engine == "shell" else ()
    wanted = Wanted(project=project, slug=None, kind="coord", engine=engine, command=command)
    ident = scene.fleet.coord.start(wanted).id
    scene.launch(ident)
    scene.clock.wait(120)
    return ident


def other_project(scene: SimulatedScene) -> None:
    shutil.copytree(scene.repository, f"{scene.root}/other")
    scene.fleet.projects.register(f"{scene.root}/other", OTHER)


def restarts(scene: SimulatedScene) -> int:
    return sum(words[: len(AGAIN)] == AGAIN for words in scene.machine.started)


def test_a_tick_of_another_project_starts_a_dead_loop_again(scene):
    other_project(scene)
    dead, neighbour = seated(scene), seated(scene, OTHER, "shell")
    with scene.speaking(neighbour) as fleet:
        assert fleet.coord.tick(OTHER).done == []
    scene.exit(dead, 1)
    with scene.speaking(neighbour) as fleet:
        assert fleet.coord.tick(OTHER).done == [f"started the coordinator of {PROJECT} again: it had died"]
    assert restarts(scene) == 1


def test_the_hint_of_its_death_starts_it_again(scene):
    ident = seated(scene)
    scene.exit(ident, 1)
    assert scene.fleet.sessions.settle_soon(ident).settled
    assert restarts(scene) == 1


def test_one_that_was_stopped_is_not_started_again(scene):
    ident = seated(scene)
    assert scene.fleet.coord.stop(PROJECT, "enough").stopped
    assert scene.fleet.sessions.settle_soon(ident).settled
    assert restart_dead_loops(scene.fleet.context) == []
    assert restarts(scene) == 0


def test_one_that_a_person_ended_by_its_id_is_not_started_again(scene):
    ident = seated(scene)
    assert scene.fleet.dispatches.stop(ident).settled
    assert restart_dead_loops(scene.fleet.context) == []


def test_one_that_may_be_alive_and_one_that_is_an_agent_are_left_alone(scene):
    ident = seated(scene)
    assert restart_dead_loops(scene.fleet.context) == []
    scene.agent(ident).is_hidden = True
    assert restart_dead_loops(scene.fleet.context) == [], "unknown is not dead"
    other_project(scene)
    agent = seated(scene, OTHER, "shell")
    scene.exit(agent, 1)
    assert scene.fleet.sessions.settle_soon(agent).settled
    assert restart_dead_loops(scene.fleet.context) == []


def test_a_reboot_is_noticed_by_whoever_looks_first(scene):
    seated(scene)
    scene.reboot()
    assert restart_dead_loops(scene.fleet.context) == [f"started the coordinator of {PROJECT} again: it had died"]
    assert restart_dead_loops(scene.fleet.context, except_project=PROJECT) == []


def test_one_that_died_at_its_start_is_not_started_again_however_late_anybody_looks(scene):
    ident = scene.fleet.coord.start(Wanted(project=PROJECT, slug=None, kind="coord", engine="fleet")).id
    scene.launch(ident)
    scene.exit(ident, 1)
    assert scene.fleet.sessions.settle_soon(ident).settled
    scene.clock.wait(3600)
    assert restart_dead_loops(scene.fleet.context) == []
    assert restarts(scene) == 0
    (said,) = scene.fleet.views.status().in_the_way
    assert said.kind == "Uncoordinated"


def test_starts_that_come_to_nothing_are_counted_and_end(scene):
    ident = seated(scene)
    scene.exit(ident, 1)
    for _ in range(10):
        restart_dead_loops(scene.fleet.context)
        assert restart_dead_loops(scene.fleet.context) == [], "one is under way"
        scene.clock.wait(61)
    assert restarts(scene) == scene.fleet.context.settings().limits_failed_spawns
    assert scene.machine.started[-1] == (*AGAIN, "--after", ident)
    assert [each.kind for each in scene.fleet.views.status().in_the_way] == ["Uncoordinated"]
    with pytest.raises(NotProven):
        scene.fleet.coord.start(Wanted(project=PROJECT, slug=None, kind="coord", engine="fleet"))
    assert len(restart_dead_loops(scene.fleet.context)) == 1, "a person has tried it since"


def test_nothing_is_started_while_somebody_starts_a_coordinator(scene):
    scene.exit(seated(scene), 1)
    with scene.fleet.world.project_gate(PROJECT, "coord-spawn"):
        assert restart_dead_loops(scene.fleet.context) == []
    assert len(restart_dead_loops(scene.fleet.context)) == 1


def test_a_start_after_one_that_was_stopped_meanwhile_starts_nothing(scene):
    ident = seated(scene)
    scene.exit(ident, 1)
    assert len(restart_dead_loops(scene.fleet.context)) == 1
    scene.fleet.coord.stop(PROJECT, "enough")
    wanted = Wanted(project=PROJECT, slug=None, kind="coord", engine="fleet")
    with pytest.raises(NotSeated):
        scene.fleet.coord.start(wanted, after=ident)
    assert scene.fleet.coord.show(PROJECT).holder is None
    assert scene.fleet.coord.show(PROJECT).candidate is None


def test_the_command_of_such_a_start_ends_in_silence_for_there_is_nothing_to_do(scene, line):
    ident = seated(scene)
    scene.exit(ident, 1)
    restart_dead_loops(scene.fleet.context)
    scene.fleet.coord.stop(PROJECT, "enough")
    assert line(*scene.machine.started[-1]).ok().out == ""
    assert scene.fleet.coord.show(PROJECT).holder is None


@pytest.mark.parametrize(
    ("engine", "asked_for", "own"),
    [("fleet", None, True), ("fleet", "stop", False), ("claude", None, False), (None, None, False)],
)
def test_who_is_started_again(engine, asked_for, own):
    seat = q.Seat(project=PROJECT, holder="0a1b2c3d", epoch=1, candidate=None, deadline=None)
    assert is_own_loop(seat, engine=engine, asked_for=asked_for) is own
    followed = seat.replaced(candidate="99999999")
    assert is_own_loop(followed, engine=engine, asked_for=asked_for) is False


@pytest.mark.parametrize(
    ("last", "ran", "again"),
    [
        (None, MINUTE, True),
        (None, MINUTE - 1, False),
        (("0a1b2c3d", 1, 50), MINUTE, False),
        (("0a1b2c3d", 2, 0), MINUTE, True),
        (("0a1b2c3d", 3, 0), 60 * MINUTE, False),
        (("99999999", 3, 0), 9 * MINUTE, False),
        (("99999999", 3, 0), 10 * MINUTE, True),
    ],
)
def test_how_often_it_is_started_again(last, ran, again):
    row = last and q.Restarts(project=PROJECT, holder=last[0], tries=last[1], at=last[2])
    assert may_restart(row, holder="0a1b2c3d", ran=ran, now=MINUTE, most=3) is again


def test_a_stopped_coordinator_is_said_while_work_is_ready(scene):
    seated(scene)
    scene.fleet.coord.stop(PROJECT, "enough")
    assert scene.fleet.views.status().in_the_way == []
    scene.fleet.tasks.add(project=PROJECT, title="T", slug="t")
    (said,) = [each for each in scene.fleet.views.status().in_the_way if each.kind == "Uncoordinated"]
    assert "its coordinator was stopped" in said.text
    assert "`fleet up`" in said.text
