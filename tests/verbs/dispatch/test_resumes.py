"""Resuming: one lock for all names of a piece of work, and no second agent beside one that lives or may live."""

import pytest
from staging.stage import bundle_of, raw

from fleet.errors.contested import ResumeInProgress
from fleet.errors.families import Refused
from fleet.errors.refused import NotResumable
from fleet.model.dispatch.steps import HANDED_OFF
from fleet.model.identity import Identity
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.resume import resume as resuming
from fleet.verbs.resume import work_lock

TASK = {"project": PROJECT, "slug": "a"}


@pytest.mark.req("RES-1", "RES-5", "RES-10")
def test_all_names_of_a_work_share_one_lock_which_is_free_after_success_and_failure(scene, monkeypatch):
    ident = scene.work("a")
    scene.fleet.dispatches.stop(ident)
    other = scene.open("other")
    with work_lock.gate_of_task(other.context, PROJECT, "a"):
        for name in (ident, f"fleet-{ident}", "a", f"{PROJECT}/a"):
            with pytest.raises(ResumeInProgress):
                scene.fleet.dispatches.resume(name)

    def refuse(*_facts) -> None:
        raise Refused(what="not now")

    with monkeypatch.context() as patch:
        patch.setattr(resuming, "start", refuse)
        with pytest.raises(Refused, match="not now"):
            scene.fleet.dispatches.resume(ident)
    new = scene.fleet.dispatches.resume(f"fleet-{ident}")
    assert (new.predecessor, new.task, new.worktree.endswith("/worktrees/a")) == (ident, "a", True)
    assert (bundle_of(scene.fleet, "a").owner, bundle_of(scene.fleet, "a").generation) == (new.id, 2)
    assert work_lock.gate_of_task(scene.fleet.context, PROJECT, "a").is_free()


@pytest.mark.req("RES-8", "RES-10", "RES-13")
def test_an_agent_that_lives_or_cannot_be_judged_is_not_resumed(scene):
    ident = scene.work("a")
    agent = scene.agent(ident)

    def refused(word: str) -> str:
        with pytest.raises(NotResumable, match=word) as caught:
            scene.fleet.dispatches.resume(ident)
        assert [each.id for each in scene.fleet.agents.list()] == [ident]
        assert not agent.is_zombie
        return caught.value.spoken

    assert f"fleet attach {ident}" in refused("alive")
    agent.is_hidden = True
    assert f"fleet attach {ident}" in refused("unknown")
    who = Identity.parse(scene.fleet.context.dispatch(ident).process)
    life = scene.fleet.world.processes.life
    for strange in (f"moon/{who.boot}/999999/1", f"{who.host}//999999/1"):
        raw(scene.fleet, f"UPDATE dispatches SET process = '{strange}' WHERE id = '{ident}'")
        assert life(Identity.parse(strange)) == "unknown", "its pid proves nothing"
        refused("unknown")
    raw(scene.fleet, f"UPDATE dispatches SET process = '{who}' WHERE id = '{ident}'")
    agent.is_hidden = False
    scene.machine.table.exit(agent)
    assert scene.fleet.dispatches.resume(ident).predecessor == ident


@pytest.mark.req("RES-10")
def test_what_is_finished_or_followed_is_not_resumed(scene):
    first = scene.work("a")
    scene.fleet.dispatches.stop(first)
    scene.clock.wait(60)
    second = scene.fleet.dispatches.resume(first).id
    scene.launch(second)
    scene.fleet.dispatches.kill(second, "enough")
    for ident in (first, second, "a"):
        with pytest.raises(NotResumable, match="on purpose"):
            scene.fleet.dispatches.resume(ident)
    scene.fleet.tasks.retry(**TASK)
    scene.clock.wait(60)
    third = scene.work("a")
    scene.fleet.dispatches.stop(third)
    with pytest.raises(NotResumable, match=f"{third} has followed"):
        scene.fleet.dispatches.resume(first)
    assert scene.fleet.dispatches.resume(third).predecessor == third


def refusal(scene, ident: str) -> str:
    """Why an ended attempt is not resumed."""
    with pytest.raises(NotResumable) as refused:
        scene.fleet.dispatches.resume(ident)
    return refused.value.facts["why"]


@pytest.mark.req("RES-10")
def test_an_agent_that_exited_with_its_work_done_has_finished(scene):
    ident = scene.work("a")
    scene.commit("a")
    scene.exit(ident)
    assert refusal(scene, ident) == "it has finished: it exited with its work done"


@pytest.mark.req("RES-10")
def test_work_that_was_taken_up_closed_or_led_on_meanwhile_is_not_resumed(scene):
    ident, fleet = scene.work("a"), scene.fleet
    fleet.dispatches.stop(ident)
    raw(fleet, "UPDATE tasks SET stage = 'fix'")
    assert refusal(scene, ident) == "its task is at the stage fix now"
    raw(fleet, "UPDATE tasks SET stage = 'worker'")
    raw(fleet, f"UPDATE dispatches SET blocked_reason = '{HANDED_OFF}'")
    assert refusal(scene, ident) == "it was handed off to a successor"
    raw(fleet, "UPDATE dispatches SET blocked_reason = NULL")
    fleet.tasks.retry(**TASK)
    fleet.tasks.pause(**TASK)
    assert refusal(scene, ident) == "its task is paused"
    fleet.tasks.pause(**TASK, paused=False)
    fleet.tasks.claim(**TASK)
    assert refusal(scene, ident) == "its task is in_progress, by tester"
    fleet.tasks.block(**TASK, reason="later")
    assert refusal(scene, ident) == "its task is blocked, by tester"
    fleet.tasks.abandon(**TASK)
    assert refusal(scene, ident).startswith("its task is abandoned")
    fleet.tasks.archive(**TASK)
    assert refusal(scene, ident) == "its task is archived"
