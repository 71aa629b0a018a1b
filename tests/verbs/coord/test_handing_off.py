"""Handoffs on a simulated machine: written down first, drained once, put off while anything is unknown."""

import json
import signal
from pathlib import Path

import pytest

from fleet.errors.store import WriteFailed
from fleet.model.results.coord import HandoffView
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.coord.handoffs.context_guard import guard_contexts
from fleet.verbs.coord.handoffs.handoff import drain

TASK = {"project": PROJECT, "slug": "a"}


def at_work(scene: SimulatedScene) -> str:
    """A worker; a person's session keeps the tmux server alive between two agents."""
    ident = scene.work("a")
    scene.server.open("mine", ["sh"], {}, "/")
    scene.agent(ident).ignores.add(signal.SIGTERM)
    return ident


def drained(scene: SimulatedScene) -> HandoffView:
    """Drained, as ticks do, until nothing waits; the sessions of successors start."""
    for _ in range(10):
        if not scene.fleet.coord.drain(PROJECT):
            break
        for starting in [each.id for each in scene.fleet.agents.list() if each.state == "starting"]:
            scene.launch(starting)
        scene.clock.wait(1)
    return scene.fleet.coord.handoffs(PROJECT)[-1]


def say(scene: SimulatedScene, ident: str, **known: int) -> None:
    """What the agent's hooks told of its context."""
    agent = scene.fleet.store.read(lambda rows: q.heard_agent(rows, dispatch=ident))
    names = ("state", "state_at", "detail", "context", "tokens", "cost", "conversation", "compacting", "sent_back",
             "failed_turns", "heartbeat_at")  # fmt: skip
    facts = {name: getattr(agent, name) for name in names} | known
    scene.fleet.commit(Change("heard", lambda tx: q.learn_agent(tx, dispatch=ident, **facts)))


def guard(scene: SimulatedScene) -> list[str]:
    """What the guard of contexts did."""
    warnings: list[str] = []
    done = guard_contexts(scene.fleet.context, PROJECT, warnings)
    assert warnings == []
    return done


@pytest.mark.req("HAND-1")
def test_a_handoff_is_written_down_before_anything_is_ended_and_not_at_all_when_it_cannot_be(scene, monkeypatch):
    old = at_work(scene)

    def full(*_facts: object, **_more: object) -> None:
        raise WriteFailed(path="the store", why="no space left on device")

    for place, name in ((q, "add_handoff"), (type(scene.fleet.world.files), "publish")):
        with monkeypatch.context() as broken:
            broken.setattr(place, name, full)
            with pytest.raises(WriteFailed):
                scene.fleet.coord.hand_off(old, reason="full")
        assert (scene.fleet.coord.handoffs(PROJECT), scene.fleet.coord.drain(PROJECT)) == ([], []), name
    assert scene.fleet.context.dispatch(old).asked_for is None
    entry = scene.fleet.coord.hand_off(old, reason="full")
    assert Path(scene.home, entry.document).read_text().startswith("---\n")
    assert (entry.state, scene.fleet.context.dispatch(old).asked_for) == ("queued", None)
    again = scene.fleet.coord.hand_off(old, reason="once more")
    assert (again.id, again.changed) == (entry.id, False), "one entry an agent"


@pytest.mark.req("HAND-2", "HAND-5")
def test_a_worker_is_asked_given_grace_killed_and_ended_before_its_successor_starts(scene):
    old = at_work(scene)
    scene.fleet.coord.hand_off(old, reason="full")
    for said in ("asked to exit", "given time to exit"):
        [entry] = scene.fleet.coord.drain(PROJECT)
        assert (entry.state, entry.deferred) == ("queued", f"{old} is {said}")
        assert [each.id for each in scene.fleet.agents.list()] == [old], "no successor beside a living agent"
    scene.clock.wait(1.1)
    done = drained(scene)
    new = done.successor
    assert (done.state, scene.fleet.dispatches.show(old).blocked_reason) == ("done", "handed off")
    assert (scene.fleet.tasks.show(**TASK).assignee, scene.fleet.tasks.show(**TASK).status) == (new, "in_progress")
    shown = scene.fleet.dispatches.show(new)
    assert (shown.predecessor, shown.handoffs) == (old, 1)
    assert "What it left" in Path(scene.home, "inbox", f"{old}.md").read_text()


@pytest.mark.req("HAND-2", "HAND-3")
def test_an_agent_whose_life_is_unknown_puts_the_handoff_off(scene):
    old = at_work(scene)
    scene.fleet.coord.hand_off(old, reason="full")
    scene.agent(old).is_hidden = True
    for _ in range(3):
        [entry] = scene.fleet.coord.drain(PROJECT)
        assert (entry.state, "unknown" in entry.deferred) == ("queued", True)
        scene.clock.wait(2)
    assert [each.id for each in scene.fleet.agents.list()] == [old]
    assert scene.fleet.context.dispatch(old).asked_for is None


@pytest.mark.req("HAND-3", "HAND-4")
def test_an_entry_that_another_process_drains_is_left_to_it(scene):
    old = at_work(scene)
    entry = scene.fleet.coord.hand_off(old, reason="full")
    gate = scene.fleet.world.project_gate(PROJECT, f"handoff-{entry.id}")
    gate.take()
    [put_off] = scene.fleet.coord.drain(PROJECT)
    assert (put_off.state, put_off.deferred) == ("queued", "another process is draining it")
    assert scene.fleet.context.dispatch(old).asked_for is None
    gate.give()
    assert drained(scene).state == "done"


@pytest.mark.req("HAND-4")
def test_an_entry_is_finished_once_and_never_drained_again(scene):
    old = at_work(scene)
    scene.fleet.coord.hand_off(old, reason="full")
    stale = scene.fleet.store.read(lambda rows: q.queued_handoffs(rows, project=PROJECT))
    done = drained(scene)
    assert drain(scene.fleet.context, PROJECT) == []
    late = {"id": stale[0].id, "before": "queued", "after": "dropped", "successor": None}
    scene.fleet.commit(Change("a drain that comes late", lambda tx: q.end_handoff(tx, **late, at=tx.at)))
    entry = scene.fleet.coord.handoffs(PROJECT)[-1]
    assert (entry.state, entry.successor) == ("done", done.successor)


@pytest.mark.req("HAND-6")
def test_the_document_says_who_what_when_why_and_has_its_sections(scene):
    old = at_work(scene)
    scene.fleet.tasks.log(**TASK, message="decided to use one file")
    entry = scene.fleet.coord.hand_off(old, reason="full", written="mind the gap")
    text = Path(scene.home, entry.document).read_text()
    head, body = text.removeprefix("---\n").split("---\n", 1)
    front = {name: json.loads(value) for name, value in (line.split(": ", 1) for line in head.splitlines())}
    assert {name: front[name] for name in ("agent", "task", "project", "reason")} == {
        "agent": old, "task": "a", "project": PROJECT, "reason": "full"
    }  # fmt: skip
    assert "time" in front
    titles = [line.removeprefix("## ") for line in body.splitlines() if line.startswith("## ")]
    assert titles[:5] == ["Completed", "Next steps", "Open questions", "Key decisions", "Files"]
    assert "mind the gap" in body


@pytest.mark.req("HAND-7")
@pytest.mark.parametrize(("below", "ask", "force"), [
    ({"context": 39}, {"context": 40}, {"context": 50}),
    ({"tokens": 199_999}, {"tokens": 200_000}, {"tokens": 300_000}),
])  # fmt: skip
def test_an_agent_is_asked_at_its_first_threshold_and_handed_off_at_the_second(scene, below, ask, force):
    ident = at_work(scene)
    say(scene, ident, **below)
    assert guard(scene) == []
    say(scene, ident, **ask)
    assert [each.split(": ")[1] for each in guard(scene)] == ["reminded"]
    assert guard(scene) == [], "once"
    [(name, last)] = force.items()
    say(scene, ident, **{name: last - 1})
    assert guard(scene) == []
    assert scene.fleet.coord.handoffs(PROJECT) == []
    say(scene, ident, **force)
    assert [each.split(": ")[1] for each in guard(scene)] == ["handed off"]
    assert [each.dispatch for each in scene.fleet.coord.handoffs(PROJECT)] == [ident]


@pytest.mark.req("HAND-7")
def test_one_that_is_about_to_compact_is_handed_off_once(scene):
    ident = at_work(scene)
    say(scene, ident, compacting=1)
    assert "compact" in guard(scene)[0]
    assert guard(scene) == []
    assert len(scene.fleet.coord.handoffs(PROJECT)) == 1
