"""A successor that could not start: what was meant for it is there for the next one."""

import shutil

import pytest
from live.coord.seats import SLEEP, until
from staging.speaking import messages_of


def handed_off(scene, fleet) -> tuple[str, str]:
    """An agent at work that is to hand off, and a message that it has not had yet."""
    old = scene.dispatch(fleet, "t", *SLEEP)
    scene.launched(fleet, old)
    [one] = fleet.messages.send("use the new name", agent=old)
    fleet.coord.hand_off(old, reason="full")
    return old, one.id


def deferred(fleet) -> str:
    """Drained once: what the handoff waits for."""
    [entry] = fleet.coord.drain("p")
    return entry.deferred or ""


@pytest.mark.req("MSG-1", "HAND-2")
def test_a_message_that_a_successor_inherited_and_never_had_reaches_the_one_after_it(scene, monkeypatch):
    with scene.fleet() as fleet:
        old, message = handed_off(scene, fleet)
        with monkeypatch.context() as patch:
            patch.setenv("PATH", scene.shim("tmux", "new-session"))
            until(lambda: "refused by the test" in deferred(fleet))
        until(lambda: fleet.coord.drain("p") == [])
        new = fleet.coord.handoffs("p")[-1].successor
        assert fleet.dispatches.show(new).predecessor == old
        assert [row.id for row in messages_of(fleet, new)] == [message]


@pytest.mark.req("HAND-2", "STORE-7")
def test_a_successor_whose_prompt_could_not_be_rewritten_leaves_nothing_in_the_hands_of_its_dispatcher(scene, once):
    def full() -> None:
        raise OSError(28, "No space left on device")

    with scene.fleet() as fleet:
        old, _message = handed_off(scene, fleet)
        shutil.rmtree(scene.tree("t"))  # it has to be made anew
        fleet.funnel.watcher = once("before", f"publish inbox/{old}.md", full)
        until(lambda: "No space left" in deferred(fleet))
        fleet.funnel.watcher = None
        assert {each.state for each in fleet.claims.list("adoptable")} == {"live"}
        scene.dispatch_and_leave(verb="drain")
        [agent] = fleet.agents.list()
        until(lambda: fleet.coord.drain("p") == [])
        assert fleet.coord.handoffs("p")[-1].successor == agent.id
        assert (scene.tree("t") / "README").exists()
