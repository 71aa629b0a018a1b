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
def test_an_agent_is_registered_by_its_own_process_and_launched_once(either):
    ident = either.dispatch("a")
    assert either.fleet.context.dispatch(ident).process is None, "not by its dispatcher"
    process = either.launch(ident)
    who = Identity.parse(either.fleet.context.dispatch(ident).process)
    assert (who.pid, who.start, who.boot) == (process.pid, process.start, either.machine.boot)
    with pytest.raises(Superseded):
        either.launch(ident)
    assert Identity.parse(either.fleet.context.dispatch(ident).process) == who


@pytest.mark.req("AGENT-2")
def test_of_two_attempts_at_a_task_one_is_made_and_attempts_at_two_tasks_are_both_registered(either):
    first, second = either.work("a"), either.work("b")
    with pytest.raises((TaskHeld, BundleHeld)):
        either.dispatch("a")
    assert {each.id for each in either.fleet.agents.list()} == {first, second}


@pytest.mark.req("AGENT-3")
def test_an_agent_that_nothing_is_heard_of_is_not_dead(either):
    ident = either.work("a")
    either.clock.wait(7 * DAY)
    assert not either.fleet.sessions.settle(ident).settled
    either.agent(ident).is_hidden = True
    assert not either.fleet.sessions.settle(ident).settled, "unknown is not dead"
    either.fleet.sweep.run(kill=True)
    assert [each.id for each in either.fleet.agents.list()] == [ident]


@pytest.mark.req("AGENT-3")
def test_another_process_with_the_pid_of_a_dead_agent_is_not_the_agent(either):
    ident = either.work("a")
    pid = either.agent(ident).pid
    either.exit(ident, 3)
    either.machine.table.spawn(either.machine.shell.pid, ["vim"], pid=pid)
    assert either.fleet.sessions.settle(ident).settled
    assert ended(either, ident) == ("failed", "exit status 3, without a report")


@pytest.mark.req("AGENT-4")
def test_a_report_that_came_after_the_look_is_not_overwritten(either):
    ident = either.work("a")
    either.report(ident, "a")
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

    assert either.fleet.commit(Change("a settle that saw no report", late)) == 0
    assert either.fleet.context.dispatch(ident).exec_state == "in_flight"
    again = {"id": ident, "report": "failed", "reason": "another word", "work": None}
    assert either.fleet.commit(Change("report again", lambda tx: q.report_dispatch(tx, **again, at=tx.at))) == 0
    assert either.fleet.context.dispatch(ident).report == "done"


@pytest.mark.req("AGENT-5")
@pytest.mark.parametrize(
    ("status", "work", "end"),
    [
        (0, True, ("done", None)),
        (0, False, ("blocked", "exited without report")),
        (3, True, ("failed", "exit status 3, without a report")),
    ],
)
def test_without_a_report_exit_status_and_work_decide(either, status, work, end):
    ident = either.work("a")
    if work:
        either.commit("a")
    either.exit(ident, status)
    assert either.fleet.sessions.settle(ident).settled
    assert ended(either, ident) == end


@pytest.mark.req("AGENT-5")
def test_an_agent_that_was_lost_with_its_boot_is_interrupted(either):
    ident = either.work("a")
    either.commit("a")
    either.reboot()
    assert either.fleet.sessions.settle(ident).settled
    assert ended(either, ident) == ("blocked", "interrupted")
    assert either.fleet.tasks.show(**TASK).status == "blocked"


@pytest.mark.req("AGENT-7")
def test_a_report_is_no_end_while_a_process_of_the_agent_is_left(either):
    ident = either.work("a")
    child = either.machine.table.spawn(either.agent(ident).pid, ["server"])
    child.ignores.add(signal.SIGHUP)
    either.report(ident, "a")
    either.exit(ident)
    settled = either.fleet.sessions.settle(ident)
    assert (settled.settled, str(child.pid) in settled.why) == (False, True)
    assert either.fleet.context.dispatch(ident).exec_state == "in_flight", "its bundle is not free"
    either.machine.table.exit(child)
    assert either.fleet.sessions.settle(ident).exec_state == "done"


@pytest.mark.req("AGENT-9")
def test_a_stopped_agent_can_be_resumed_and_a_killed_one_has_failed(either):
    first, second = either.work("a"), either.work("b")
    assert either.fleet.dispatches.stop(first).settled
    assert ended(either, first) == ("blocked", "stopped")
    assert either.fleet.dispatches.kill(second, "not that one").settled
    assert ended(either, second) == ("failed", "killed: not that one")
    assert [each.id for each in either.fleet.dispatches.resumable()] == [first]


@pytest.mark.req("AGENT-9")
def test_a_kill_weighs_more_than_a_stop_and_is_not_taken_back_by_one(either):
    ident = either.work("a")

    def asks(asked_for: str) -> str | None:
        change = {"id": ident, "asked_for": asked_for, "reason": asked_for}
        either.fleet.commit(Change("ask", lambda tx: q.ask_dispatch(tx, **change, at=tx.at)))
        return either.fleet.context.dispatch(ident).asked_for

    assert [asks(each) for each in ("handoff", "stop", "handoff", "kill", "stop")] == [
        "handoff", "stop", "stop", "kill", "kill"
    ]  # fmt: skip


@pytest.mark.req("AGENT-9")
def test_an_agent_is_asked_with_a_signal_and_killed_only_after_its_grace(either):
    ident = either.work("a")
    asked: list[float] = []
    either.agent(ident).handlers[signal.SIGTERM] = lambda: asked.append(either.clock.ticks())
    assert either.fleet.dispatches.stop(ident).settled
    assert len(asked) == 1
    assert either.clock.ticks() - asked[0] >= 1.0
