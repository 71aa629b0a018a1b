"""How agents begin and end, on each kind of store: launched once, dead when proven, ended by what they left."""

import signal

import pytest

from fleet.errors.contested import BundleHeld, TaskHeld
from fleet.errors.families import Superseded
from fleet.model.identity import Identity
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.testing.simulated.scene import PROJECT

TASK = {"project": PROJECT, "slug": "a"}
DAY = 24 * 3_600


def ended(scene, ident: str) -> tuple[str, str | None]:
    shown = scene.fleet.dispatches.show(ident)
    return shown.exec_state, shown.blocked_reason


@pytest.mark.req("AGENT-1", "AGENT-2")
def test_an_agent_is_registered_by_its_own_process_and_launched_once(scene):
    ident = scene.dispatch("a")
    assert scene.fleet.context.dispatch(ident).process is None, "not by its dispatcher"
    process = scene.launch(ident)
    who = Identity.parse(scene.fleet.context.dispatch(ident).process)
    assert (who.pid, who.start, who.boot) == (process.pid, process.start, scene.machine.boot)
    with pytest.raises(Superseded):
        scene.launch(ident)
    assert Identity.parse(scene.fleet.context.dispatch(ident).process) == who


@pytest.mark.req("AGENT-2")
def test_of_two_attempts_at_a_task_one_is_made_and_attempts_at_two_tasks_are_both_registered(scene):
    first, second = scene.work("a"), scene.work("b")
    with pytest.raises((TaskHeld, BundleHeld)):
        scene.dispatch("a")
    assert {each.id for each in scene.fleet.agents.list()} == {first, second}


@pytest.mark.req("AGENT-3")
def test_an_agent_that_nothing_is_heard_of_is_not_dead(scene):
    ident = scene.work("a")
    scene.clock.wait(7 * DAY)
    assert not scene.fleet.sessions.settle(ident).settled
    scene.agent(ident).is_hidden = True
    assert not scene.fleet.sessions.settle(ident).settled, "unknown is not dead"
    scene.fleet.sweep.run(kill=True)
    assert [each.id for each in scene.fleet.agents.list()] == [ident]


@pytest.mark.req("AGENT-3")
def test_another_process_with_the_pid_of_a_dead_agent_is_not_the_agent(scene):
    ident = scene.work("a")
    pid = scene.agent(ident).pid
    scene.exit(ident, 3)
    scene.machine.table.spawn(scene.machine.shell.pid, ["vim"], pid=pid)
    assert scene.fleet.sessions.settle(ident).settled
    assert ended(scene, ident) == ("failed", "exit status 3, without a report")


@pytest.mark.req("AGENT-4")
def test_a_report_that_came_after_the_look_is_not_overwritten(scene):
    ident = scene.work("a")
    scene.report(ident, "a")
    facts = {
        "id": ident,
        "before": "in_flight",
        "after": "failed",
        "exit_status": 1,
        "reason": "a late word",
        "work": None,
    }

    def late(tx) -> int:
        return q.end_dispatch(tx, **facts, report=None, asked_for=None, at=tx.at)

    assert scene.fleet.commit(Change("a settle that saw no report", late)) == 0
    assert scene.fleet.context.dispatch(ident).exec_state == "in_flight"
    again = {"id": ident, "report": "failed", "reason": "another word", "work": None}
    assert scene.fleet.commit(Change("report again", lambda tx: q.report_dispatch(tx, **again, at=tx.at))) == 0
    assert scene.fleet.context.dispatch(ident).report == "done"


@pytest.mark.req("AGENT-5")
@pytest.mark.parametrize(
    ("status", "work", "end"),
    [
        (0, True, ("done", None)),
        (0, False, ("blocked", "exited without report")),
        (3, True, ("failed", "exit status 3, without a report")),
    ],
)
def test_without_a_report_exit_status_and_work_decide(scene, status, work, end):
    ident = scene.work("a")
    if work:
        scene.commit("a")
    scene.exit(ident, status)
    assert scene.fleet.sessions.settle(ident).settled
    assert ended(scene, ident) == end


@pytest.mark.req("AGENT-5")
def test_an_agent_that_was_lost_with_its_boot_is_interrupted(scene):
    ident = scene.work("a")
    scene.commit("a")
    scene.reboot()
    assert scene.fleet.sessions.settle(ident).settled
    assert ended(scene, ident) == ("blocked", "interrupted")
    assert scene.fleet.tasks.show(**TASK).status == "blocked"


@pytest.mark.req("AGENT-7")
def test_a_report_is_no_end_while_a_process_of_the_agent_is_left(scene):
    ident = scene.work("a")
    child = scene.machine.table.spawn(scene.agent(ident).pid, ["server"])
    child.ignores.add(signal.SIGHUP)
    scene.report(ident, "a")
    scene.exit(ident)
    settled = scene.fleet.sessions.settle(ident)
    assert (settled.settled, str(child.pid) in settled.why) == (False, True)
    assert scene.fleet.context.dispatch(ident).exec_state == "in_flight", "its bundle is not free"
    scene.machine.table.exit(child)
    assert scene.fleet.sessions.settle(ident).exec_state == "done"


@pytest.mark.req("AGENT-9")
def test_a_stopped_agent_can_be_resumed_and_a_killed_one_has_failed(scene):
    first, second = scene.work("a"), scene.work("b")
    assert scene.fleet.dispatches.stop(first).settled
    assert ended(scene, first) == ("blocked", "stopped")
    assert scene.fleet.dispatches.kill(second, "not that one").settled
    assert ended(scene, second) == ("failed", "killed: not that one")
    assert [each.id for each in scene.fleet.dispatches.resumable()] == [first]


@pytest.mark.req("AGENT-9")
def test_a_kill_weighs_more_than_a_stop_and_is_not_taken_back_by_one(scene):
    ident = scene.work("a")

    def asks(asked_for: str) -> str | None:
        change = {"id": ident, "asked_for": asked_for, "reason": asked_for}
        scene.fleet.commit(Change("ask", lambda tx: q.ask_dispatch(tx, **change, at=tx.at)))
        return scene.fleet.context.dispatch(ident).asked_for

    assert [asks(each) for each in ("handoff", "stop", "handoff", "kill", "stop")] == [
        "handoff", "stop", "stop", "kill", "kill"
    ]  # fmt: skip


@pytest.mark.req("AGENT-9")
def test_an_agent_is_asked_with_a_signal_and_killed_only_after_its_grace(scene):
    ident = scene.work("a")
    asked: list[float] = []
    scene.agent(ident).handlers[signal.SIGTERM] = lambda: asked.append(scene.clock.ticks())
    assert scene.fleet.dispatches.stop(ident).settled
    assert [round(scene.clock.ticks() - when, 1) for when in asked] == [1.0]
    assert ended(scene, ident) == ("blocked", "stopped")
