"""Clocks that jump, graces that pass, and engines that are held back until a reset."""

import signal

import pytest

from fleet.errors.contested import GateHeld
from fleet.errors.refused import EngineHeld, LimitReached
from fleet.model.text.times import HOUR, MINUTE, SECOND
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.coord.tend import tend_dispatches


def tended(scene: SimulatedScene) -> list[str]:
    troubles: list[str] = []
    said = tend_dispatches(scene.fleet.context, PROJECT, troubles)
    assert troubles == []
    return [each.partition(": ")[2] for each in said]


def hold(scene: SimulatedScene, until: int) -> None:
    facts = {"engine": "shell", "kind": "limit", "reason": "usage limit", "until": until}
    scene.fleet.commit(Change("a limit", lambda tx: {"n": q.hold_engine(tx, **facts, at=tx.at)}))


def test_an_agent_that_reported_is_asked_and_then_killed_as_its_graces_pass(scene):
    ident = scene.work("a")
    scene.agent(ident).ignores.add(signal.SIGTERM)
    scene.report(ident, "a")
    assert tended(scene) == []
    scene.clock.wait(1)
    assert tended(scene) == ["asked to exit"]
    assert tended(scene) == []
    scene.clock.wait(1)
    assert tended(scene) == ["ended"]


def test_a_clock_that_was_set_back_makes_a_grace_longer_and_loses_nothing(scene):
    ident = scene.work("a")
    scene.report(ident, "a")
    scene.clock.set(scene.clock.now() - HOUR)
    scene.clock.wait(60)
    assert tended(scene) == []
    scene.clock.set(scene.clock.now() + HOUR)
    assert tended(scene) == ["asked to exit"]
    assert tended(scene) == ["ended done"]


def test_an_agent_that_was_asked_before_the_clock_was_set_back_is_not_spared_for_an_hour(scene):
    ident = scene.work("a")
    scene.agent(ident).ignores.add(signal.SIGTERM)
    scene.fleet.tasks.abandon(project=PROJECT, slug="a", override=True)
    assert tended(scene) == ["asked to exit"]
    scene.clock.set(scene.clock.now() - HOUR)
    assert tended(scene) == ["ended"]


def test_a_clock_that_jumps_a_year_ends_no_agent_that_has_not_reported(scene):
    ident = scene.work("a")
    scene.clock.set(scene.clock.now() + 365 * 24 * HOUR)
    assert tended(scene) == []
    scene.fleet.sweep.run(kill=True)
    assert scene.fleet.sessions.settle(ident).why == "its process is alive"


def test_an_agent_that_exits_within_its_grace_is_not_killed(scene):
    ident = scene.work("a")
    agent, table = scene.agent(ident), scene.machine.table
    ended: list[float] = []
    agent.handlers[signal.SIGTERM] = lambda: scene.clock.later(0.5, lambda: table.exit(agent))
    agent.on_death.append(lambda _status, number: ended.append(number or 0))
    before = scene.clock.ticks()
    assert scene.fleet.dispatches.stop(ident).settled
    assert ended == [0]
    assert 0.5 <= scene.clock.ticks() - before < 1


def test_an_agent_that_ignores_the_asking_is_killed_after_its_grace(scene):
    ident = scene.work("a")
    scene.agent(ident).ignores.add(signal.SIGTERM)
    before = scene.clock.ticks()
    assert scene.fleet.dispatches.kill(ident, "a test").settled
    assert scene.clock.ticks() - before >= 1


def test_an_engine_is_held_back_until_its_reset_then_one_tries_and_the_others_follow(scene):
    hold(scene, scene.clock.now() + HOUR)
    with pytest.raises(EngineHeld, match="usage limit"):
        scene.dispatch("a")
    scene.clock.wait(HOUR / SECOND)
    scene.work("a")
    with pytest.raises(EngineHeld):
        scene.dispatch("b")
    scene.clock.wait(MINUTE / SECOND)
    scene.work("b")
    assert scene.fleet.engines.limits().holds == []


def test_a_trial_that_dies_leaves_the_trial_to_the_next(scene):
    hold(scene, scene.clock.now())
    ident = scene.work("a")
    scene.exit(ident, 1)
    assert scene.fleet.sessions.settle(ident).exec_state == "failed"
    other = scene.work("b")
    assert scene.fleet.engines.limits().holds[0].trial == other


def test_a_clock_that_was_set_back_over_a_reset_holds_the_engine_again(scene):
    hold(scene, scene.clock.now())
    scene.clock.set(scene.clock.now() - HOUR)
    with pytest.raises(EngineHeld):
        scene.dispatch("a")


def test_the_limit_of_agents_counts_those_of_whom_nothing_is_known():
    with SimulatedScene(settings="[limits]\nagents = 1\n") as scene:
        ident = scene.work("a")
        scene.agent(ident).is_hidden = True
        with pytest.raises(LimitReached):
            scene.dispatch("b")


def test_a_gate_that_somebody_holds_is_waited_for_by_the_simulated_clock_alone(scene):
    held = scene.fleet.world.gate("tmux")
    held.take()
    before = scene.clock.ticks()
    with pytest.raises(GateHeld, match="tmux"):
        scene.dispatch("a")
    held.give()
    assert scene.clock.ticks() - before >= 60
    assert scene.fleet.tasks.show(project=PROJECT, slug="a").status == "open"
