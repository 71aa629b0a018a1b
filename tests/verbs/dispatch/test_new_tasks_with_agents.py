"""A task that is added together with its agent: no coordinator comes in between, and nothing is added twice or for nothing."""

import pytest

from fleet import errors
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch import dispatch
from fleet.verbs.dispatch.plan import Wanted

WANTED = Wanted(project=PROJECT, slug="", engine="shell", command=("sleep", "1000"))


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
    made = scene.fleet.dispatches.start_new(WANTED, title="Fix it")
    assert (made.task, made.engine) == ("fix-it", "shell")
    (only,) = scene.fleet.dispatches.list()
    assert only.id == made.id


@pytest.mark.req("AGENT-6")
def test_a_task_whose_agent_finds_no_room_is_said_to_be_added_and_is_there_once(on_store):
    with SimulatedScene(settings=f"{on_store}[limits]\nagents = 1\n") as scene:
        scene.fleet.dispatches.start_new(WANTED, title="One")
        with pytest.raises(errors.OnlyAdded) as refusal:
            scene.fleet.dispatches.start_new(WANTED, title="Two")
        assert refusal.value.code == 14
        assert "limits.agents" in str(refusal.value)
        assert refusal.value.next_step == f"`fleet dispatch two -p {PROJECT}` starts one"
        assert slugs(scene) == ["one", "two"]
        assert len(scene.fleet.dispatches.list()) == 1


@pytest.mark.req("GRAPH-5")
def test_nothing_is_added_under_a_slug_that_is_taken_or_for_an_engine_that_is_missing(scene):
    scene.fleet.tasks.add(project=PROJECT, title="One", slug="one")
    with pytest.raises(errors.SlugTaken):
        scene.fleet.dispatches.start_new(WANTED, title="Another", slug="one")
    with pytest.raises(errors.FleetError):
        scene.fleet.dispatches.start_new(Wanted(project=PROJECT, slug="", engine="nonsense"), title="Another")
    assert slugs(scene) == ["one"]


@pytest.mark.req("STORE-16")
def test_a_request_that_is_repeated_adds_no_second_task_and_says_who_works_on_the_first(scene):
    for attempt in (1, 2):
        with scene.fleet.committer.under("once"):
            if attempt == 1:
                made = scene.fleet.dispatches.start_new(WANTED, title="Fix it")
                continue
            with pytest.raises(errors.TaskHeld, match=made.id):
                scene.fleet.dispatches.start_new(WANTED, title="Fix it")
    assert slugs(scene) == ["fix-it"]
