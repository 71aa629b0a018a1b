"""Handoffs that bring nothing are bounded: the task is parked for a person, who is told what happened."""

import signal
from collections.abc import Callable

import pytest

from fleet.model.results.coord import HandoffView
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT


def hand_off(scene: SimulatedScene, ident: str) -> HandoffView:
    """Hand an agent off and drain, as ticks do; the successor's session starts, if there is one."""
    scene.fleet.coord.hand_off(ident, reason="context 52 % full")
    scene.agent(ident).handlers[signal.SIGTERM] = lambda: scene.exit(ident, 143)
    for _ in range(10):
        scene.fleet.coord.drain(PROJECT)
        for starting in [each.id for each in scene.fleet.agents.list() if each.state == "starting"]:
            scene.launch(starting)
        scene.clock.wait(1)
    return scene.fleet.coord.handoffs(PROJECT)[-1]


def successor(scene: SimulatedScene, ident: str) -> str:
    entry = hand_off(scene, ident)
    assert (entry.state, entry.dispatch) == ("done", ident), entry
    return str(entry.successor)


def keep(scene: SimulatedScene) -> None:
    """A person's session keeps the simulated tmux server alive between two agents."""
    scene.server.open("mine", ["sh"], {}, "/")


def begun(scene: SimulatedScene) -> str:
    ident = scene.work("a")
    keep(scene)
    return ident


def use(scene: SimulatedScene, ident: str, *, millionths: int) -> None:
    """Record that an agent has used ten tokens, for that many millionths of a dollar."""
    counted = {"input": 10, "output": 0, "cache_read": 0, "cache_write": 0, "cost": millionths, "unpriced": 0}
    place = {"dispatch": ident, "project": PROJECT, "slug": "a", "model": "m", "day": "2026-11-15"}
    scene.fleet.context.commit(Change("use", lambda tx: q.add_usage(tx, **place, **counted, at=tx.at)))


@pytest.mark.req("HAND-5")
def test_the_third_handoff_that_brings_nothing_parks_the_task(scene):
    first = begun(scene)
    second = successor(scene, first)
    third = successor(scene, second)
    (shown,) = scene.fleet.agents.list()
    assert (shown.id, shown.handoffs) == (third, 2)
    parked = hand_off(scene, third)
    assert (parked.state, parked.successor, parked.fruitless) == ("dropped", None, 3)
    assert parked.parked_at is not None
    task = scene.fleet.tasks.show(project=PROJECT, slug="a")
    assert (task.status, task.handoffs) == ("blocked", 3)
    assert task.reason == (
        "3 handoffs in a row brought no commit, artifact or changed plan "
        f"(agents {first}, {second}, {third}; the last: context 52 % full)"
    )
    assert scene.fleet.agents.list() == []
    page = scene.fleet.views.status()
    (need,) = page.needs_you
    assert (need.kind, need.slug, need.dispatch) == ("handoffs", "a", third)
    assert need.text.startswith(str(task.reason))
    assert page.parked == [], "it is listed once"


def test_what_the_handed_off_agents_cost_is_said(scene):
    ident = first = begun(scene)
    for _ in range(2):
        ident = successor(scene, ident)
    use(scene, first, millionths=1_500_000)
    use(scene, ident, millionths=750_000)
    hand_off(scene, ident)
    task = scene.fleet.tasks.show(project=PROJECT, slug="a")
    assert f"{ident}, $2.25 so far; the last" in task.reason
    assert (task.used_before_handoffs.dollars, task.used_before_handoffs.tokens) == (2.25, 20)


def test_a_person_resumes_the_parked_task_in_a_new_conversation_and_the_count_starts_anew(scene):
    ident = begun(scene)
    for _ in range(2):
        ident = successor(scene, ident)
    assert hand_off(scene, ident).parked_at is not None
    resumed = scene.fleet.dispatches.resume(ident)
    assert (resumed.predecessor, resumed.conversation) == (ident, False)
    scene.launch(resumed.id)
    assert scene.fleet.views.status().needs_you == []
    assert hand_off(scene, resumed.id).fruitless == 1


def committed(scene: SimulatedScene, ident: str) -> None:
    scene.commit("a", name=ident)


def registered(scene: SimulatedScene, ident: str) -> None:
    with scene.speaking(ident) as fleet:
        fleet.tasks.artifact(project=PROJECT, slug="a", path=f"{ident}.txt")


def replanned(scene: SimulatedScene, ident: str) -> None:
    scene.fleet.tasks.add(project=PROJECT, title=ident, after=["a"])


@pytest.mark.parametrize("progress", [committed, registered, replanned])
def test_progress_sets_the_count_back(scene, progress: Callable[[SimulatedScene, str], None]):
    ident = begun(scene)
    for _ in range(2):
        ident = successor(scene, ident)
    progress(scene, ident)
    entry = hand_off(scene, ident)
    assert (entry.state, entry.fruitless) == ("done", 0)


def test_a_log_line_is_no_progress(scene):
    ident = begun(scene)
    for _ in range(2):
        ident = successor(scene, ident)
    with scene.speaking(ident) as fleet:
        fleet.tasks.log(project=PROJECT, slug="a", message="still reading")
    assert hand_off(scene, ident).parked_at is not None


def test_how_many_is_a_setting():
    with SimulatedScene(settings="handoff.without_progress = 0\n") as scene:
        assert hand_off(scene, begun(scene)).parked_at is not None


def test_a_drain_that_is_repeated_does_not_count_twice(scene):
    ident = begun(scene)
    scene.fleet.coord.hand_off(ident, reason="full")
    scene.agent(ident).handlers[signal.SIGTERM] = lambda: scene.exit(ident, 143)
    for _ in range(5):  # the successor's session never runs its command
        scene.open().coord.drain(PROJECT)
        scene.clock.wait(1)
    (entry,) = scene.fleet.coord.handoffs(PROJECT)
    assert (entry.state, entry.fruitless) == ("queued", 1)
