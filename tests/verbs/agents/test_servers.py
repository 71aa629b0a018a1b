"""tmux servers that are lost, replaced, stopped, killed or deaf."""

import os
import re
import signal
from pathlib import Path

import pytest

from fleet.errors.tools import TmuxRefused
from fleet.testing.simulated.scene import PROJECT


def test_a_lost_socket_is_made_again_for_the_next_dispatch_by_the_same_server(scene):
    scene.work("a")
    server = scene.server
    os.unlink(server.socket)
    scene.work("b")
    assert list(scene.machine.servers.values()) == [server]
    assert len(server.panes) == 2


def test_a_server_that_does_not_come_back_refuses_the_dispatch_and_no_second_one_is_started(scene):
    scene.work("a")
    server = scene.server
    server.process.handlers[signal.SIGUSR1] = lambda: None
    os.unlink(server.socket)
    with pytest.raises(TmuxRefused, match="lives, but not on"):
        scene.dispatch("b")
    assert list(scene.machine.servers.values()) == [server]
    assert scene.fleet.tasks.show(project=PROJECT, slug="b").status == "open"


def test_a_session_whose_server_was_replaced_is_unknown_and_its_claim_stays(scene):
    ident = scene.work("a")
    first = scene.server
    os.unlink(first.socket)
    scene.fleet.world.tmux.ensure_server()
    scene.exit(ident)
    done = scene.fleet.sessions.settle(ident)
    assert done.settled
    assert [each for each in done.left if "unknown" in each]
    assert len(first.panes) == 1
    first.listen()
    assert scene.fleet.sweep.run(kill=True)
    assert first.panes == []


def test_no_agent_starts_on_a_server_that_has_taken_the_socket_of_a_living_one(scene):
    ident = scene.dispatch("a")
    process = scene.pane(ident).process
    process.environment["TMUX"] = f"{scene.server.socket},999,0"
    with pytest.raises(TmuxRefused, match="has taken its socket"):
        scene.launch(ident)
    assert scene.fleet.context.dispatch(ident).exec_state == "pending"


def test_a_killed_server_takes_its_agent_with_it_and_the_dispatch_is_settled(scene):
    ident = scene.work("a")
    scene.machine.table.signal(scene.server.process, signal.SIGKILL)
    done = scene.fleet.sessions.settle(ident)
    assert (done.settled, done.exec_state, done.left) == (True, "blocked", [])


def test_an_agent_that_outlives_its_killed_server_is_still_at_work(scene):
    ident = scene.work("a")
    scene.agent(ident).ignores.add(signal.SIGHUP)
    scene.machine.table.signal(scene.server.process, signal.SIGKILL)
    assert scene.fleet.sessions.settle(ident).why == "its process is alive"
    scene.fleet.sweep.run(kill=True)
    assert scene.fleet.sessions.settle(ident).why == "its process is alive"
    assert scene.fleet.dispatches.kill(ident, "a test").settled


def test_a_stopped_server_is_waited_for_and_the_exit_status_counts_once_it_answers(scene):
    ident = scene.work("a")
    scene.machine.table.signal(scene.server.process, signal.SIGSTOP)
    scene.exit(ident, 3)
    before = scene.clock.ticks()
    assert scene.fleet.sessions.settle(ident).why == "its tmux server does not say how it ended"
    assert scene.clock.ticks() - before >= 5
    scene.machine.table.signal(scene.server.process, signal.SIGCONT)
    assert scene.fleet.sessions.settle(ident).exec_state == "failed"


def test_a_handler_is_called_when_its_process_continues_and_never_after_its_death(scene):
    table, called = scene.machine.table, []
    process = table.spawn(scene.machine.shell.pid, ["sleep"])
    process.handlers[signal.SIGTERM] = lambda: called.append("asked")
    process.on_death.append(lambda *_how: called.append("dead"))
    table.signal(process, signal.SIGSTOP)
    table.signal(process, signal.SIGTERM)
    assert called == []
    table.signal(process, signal.SIGCONT)
    assert called == ["asked"]
    table.exit(process)
    table.signal(process, signal.SIGTERM)
    assert (process.is_zombie, called) == (True, ["asked", "dead"])


def test_a_server_that_missed_the_death_is_told_again(scene):
    ident = scene.work("a")
    scene.server.is_deaf = True
    scene.exit(ident, 3)
    assert not scene.pane(ident).dead
    assert scene.fleet.sessions.settle(ident).exec_state == "failed"
    assert scene.machine.started == [("settle", "--hint", f"fleet-{ident}")]


def test_the_example_of_a_test_with_a_scene_in_contributing_can_be_played(scene):
    page = (Path(__file__).parents[3] / "CONTRIBUTING.md").read_text()
    (example,) = re.findall(r"^```python\n(def test_\w+\(scene\):.*?)^```$", page, re.MULTILINE | re.DOTALL)
    names = {}
    exec(compile(example, "CONTRIBUTING.md", "exec"), names)
    (test,) = [each for name, each in names.items() if name.startswith("test_")]
    test(scene)


def test_a_pane_in_which_a_person_started_something_else_is_not_ours_any_more(scene):
    ident = scene.work("a")
    pane = scene.pane(ident)
    scene.exit(ident)
    pane.process = scene.machine.table.spawn(scene.server.process.pid, ["bash"], leads_session=True)
    pane.dead, pane.ended = False, None
    left = scene.fleet.sessions.settle(ident).left
    assert [each for each in left if "foreign" in each]
    assert scene.machine.table.living[pane.process.pid] is pane.process
