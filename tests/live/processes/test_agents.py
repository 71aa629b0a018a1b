"""Agents: a report is a word, an end is proven; what ignores signals or leaves daemons behind is found all the same."""

import contextlib
import os
import signal
import sys

import pytest
from plugins.account import command_of
from staging.stage import FLEET, acted, answer, bundle_of, is_alive, process_of, status_of

import fleet.world.tmux as tmux_module
from fleet.model.text.times import iso
from fleet.store import queries as q
from fleet.testing.crash.scenarios import until
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.host import Host


def scripted(scene, fleet, *steps: str, slug: str = "t") -> str:
    return scene.dispatch(fleet, slug, engine="scripted", script="\n".join(steps) + "\n")


@pytest.mark.req("AGENT-7", "STORE-8", "SWEEP-9")
def test_a_report_is_not_an_end_and_grace_is_given_before_the_tree_is_killed(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "write a.txt one", "commit A", "done", "write a.txt two", "commit B", "hang")
        either.shows(fleet, ident, "working: hang")
        assert fleet.agents.list()[0].state == "reported done"
        assert status_of(fleet, "t")[0] == "in_progress"
        assert bundle_of(fleet, "t").owner == ident
        who = process_of(fleet, ident)
        until(lambda: acted(fleet.sweep.run(kill=True)))
        either.ended(fleet)
        assert not is_alive(who.pid)
        assert status_of(fleet, "t")[0] == "to merge"
        assert either.git("show", "worker/t:a.txt") == "two", "what it wrote after its report is there"


@pytest.mark.req("SWEEP-9", "AGENT-7")
def test_within_its_grace_an_agent_that_reported_is_left_alone(patient):
    with patient.fleet() as fleet:
        ident = scripted(patient, fleet, "done", "hang")
        patient.shows(fleet, ident, "working: hang")
        assert acted(fleet.sweep.run(kill=True)) == []
        assert is_alive(process_of(fleet, ident).pid)


@pytest.mark.req("AGENT-7", "AGENT-9")
@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_an_agent_that_ignores_signals_and_left_a_daemon_behind_is_ended_with_all_that_carries_its_id(either, verb):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "stubborn", "daemon", "hang")
        either.shows(fleet, ident, "working: hang")
        marked = fleet.world.processes.marked(ident)
        assert len(marked) >= 2
        done = fleet.dispatches.stop(ident) if verb == "stop" else fleet.dispatches.kill(ident, "in circles")
        assert done.settled
        assert [who.pid for who in marked if is_alive(who.pid)] == []
        expected = ("blocked", "stopped") if verb == "stop" else ("failed", "killed: in circles")
        assert status_of(fleet, "t") == expected


@pytest.mark.req("AGENT-7", "SWEEP-12")
def test_an_agent_that_exited_but_left_a_daemon_is_not_ended_until_a_sweep_has_killed_it(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "daemon", "done", "exit 0")
        either.exited(fleet, ident)
        assert fleet.sessions.settle(ident).settled is False
        marked = fleet.world.processes.marked(ident)
        (daemon,) = [who for who in marked if command_of(who.pid)[:1] == ["sleep"]]
        assert is_alive(daemon.pid)
        either.swept(fleet)
        assert not is_alive(daemon.pid)
        assert status_of(fleet, "t")[0] == "to merge"


@pytest.mark.req("AGENT-5")
@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (["exit 0"], ("blocked", "exited without report")),
        (["write a.txt x", "commit A", "exit 0"], ("to merge", None)),
        (["write a.txt x", "artifact a.txt", "commit A", "exit 0"], ("to merge", None)),
        (["write a.txt x", "commit A", "exit 3"], ("failed", "exit status 3, without a report")),
        (["block which colour?", "exit 3"], ("blocked", "which colour?")),
        (["done", "exit 3"], ("to merge", None)),
        (["fail cannot be done", "exit 0"], ("failed", "cannot be done")),
    ],
    ids=["0 without evidence", "0 with commits", "0 with artifacts", "3", "blocked", "done then 3", "failed then 0"],
)
def test_an_exit_is_noticed_without_a_daemon_and_weighed_with_report_and_evidence(scene, steps, expected):
    with scene.fleet() as fleet:
        scripted(scene, fleet, *steps)
        scene.ended(fleet)
        assert status_of(fleet, "t") == expected


@pytest.mark.req("AGENT-5", "AGENT-3", "EXC-7")
def test_an_exit_status_that_a_stopped_server_cannot_tell_yet_is_waited_for_not_guessed(scene, monkeypatch):
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        who, server = scene.launched(fleet, ident), scene.server(fleet)
        monkeypatch.setattr(tmux_module, "LIMIT", 1.0)
        os.kill(server, signal.SIGSTOP)
        os.kill(who.pid, signal.SIGTERM)
        until(lambda: fleet.world.processes.life(who) == "dead")
        assert fleet.sessions.settle(ident).settled is False
        os.kill(server, signal.SIGCONT)
        monkeypatch.setattr(tmux_module, "LIMIT", 5.0)
        scene.swept(fleet)
        assert status_of(fleet, "t") == ("failed", "exit status 143, without a report")


@pytest.mark.req("AGENT-5", "EXC-2")
def test_an_agent_lost_with_its_boot_is_interrupted_and_left_to_resume(either, monkeypatch):
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", "sleep", "1000")
        who, server = either.launched(fleet, ident), either.server(fleet)
    for pid in (server, who.pid):  # the machine goes down …
        with contextlib.suppress(ProcessLookupError):  # it may have died with the server
            os.kill(pid, signal.SIGKILL)
    until(lambda: not is_alive(server) and not is_alive(who.pid))
    monkeypatch.setattr(Host, "boot", property(lambda _host: "another-boot"))  # … and comes up again
    with either.fleet() as fleet:
        either.swept(fleet)
        assert status_of(fleet, "t") == ("blocked", "interrupted")
        assert either.tree("t").exists()


@pytest.mark.req("AGENT-3", "AGENT-4")
def test_a_report_that_comes_while_its_dispatch_is_being_settled_is_not_overwritten(either, once):
    with either.fleet() as fleet:
        either.without_hint(fleet)
        ident = either.dispatch(fleet, "t", "true")
        either.exited(fleet, ident)

        def report() -> None:
            told = either.around(FLEET_DISPATCH_ID=ident, FLEET_TASK="t", FLEET_PROJECT="p")
            assert either.program("done", env=told).code == 0

        fleet.funnel.watcher = once("before", "publish logs/", report)
        assert fleet.sessions.settle(ident).settled, "with the report, not without"
        assert status_of(fleet, "t")[0] == "to merge"


@pytest.mark.req("AGENT-6")
def test_limits_hold_in_a_race_of_sixteen_for_four(crowded):
    with crowded.fleet() as fleet:
        for number in range(16):
            fleet.tasks.add(project="p", title="T", slug=f"t{number}")
    words = ("-p", "p", "--engine", "shell", "--", "sleep", "1000")
    said = [answer(child) for child in [crowded.start(FLEET, "dispatch", f"t{number}", *words) for number in range(16)]]
    assert sorted(each.code for each in said) == [0] * 4 + [14] * 12, said
    assert all("too many agents" in each.err for each in said if each.code)
    with crowded.fleet() as fleet:
        assert len(fleet.agents.list()) == 4
        counts = fleet.projects.show("p").tasks
        assert (counts.in_progress, counts.open) == (4, 12)


@pytest.mark.req("AGENT-2", "AGENT-1", "DER-1")
def test_two_concurrent_spawns_both_end_up_registered(either):
    with either.fleet() as fleet:
        for slug in ("a", "b"):
            fleet.tasks.add(project="p", title="T", slug=slug)
        words = ("-p", "p", "--engine", "shell", "--", "sleep", "1000")
        said = [answer(child) for child in [either.start(FLEET, "dispatch", slug, *words) for slug in ("a", "b")]]
        assert [each.code for each in said] == [0, 0], said
        found = {agent.task: agent for agent in fleet.agents.list()}
        for slug in ("a", "b"):
            who = either.launched(fleet, found[slug].id)
            assert (who.host, who.boot) == (fleet.world.host.id, fleet.world.host.boot)
            assert found[slug].session == f"fleet-{found[slug].id}"
            (now,) = [agent for agent in fleet.agents.list() if agent.task == slug]
            assert (now.engine, now.state, now.source, now.process) == ("shell", "running", "process", str(who))
            record = fleet.store.read(lambda rows, ident=now.id: q.agent_by_id(rows, id=ident))
            assert (record.dispatch, now.started_at, record.archived_at) == (now.id, iso(record.started_at), None)


@pytest.mark.req("AGENT-9", "STORE-8")
@pytest.mark.parametrize(
    ("where", "effect"), [("before", "git checkout"), ("before", "tmux new-session"), ("after", "tmux new-session")]
)
def test_a_kill_during_the_start_ends_the_attempt(either, where, effect):
    with either.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
        child = either.halted(where, effect, "dispatch", "t")
        ident = fleet.dispatches.list()[0].id
        fleet.dispatches.kill(ident, "not that one")
        os.kill(child.pid, signal.SIGCONT)
        answer(child)
        until(lambda: either.swept(fleet) or not fleet.agents.list())
        assert fleet.world.processes.marked(ident) == []
        assert fleet.dispatches.show(ident).exec_state == "failed"
        assert "not that one" in fleet.dispatches.show(ident).blocked_reason


@pytest.mark.req("AGENT-9", "STORE-8")
def test_a_kill_and_the_hint_of_a_dying_pane_do_not_get_in_each_others_way(either):
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", "sleep", "1000")
        either.launched(fleet, ident)
    settlers = [either.start(FLEET, "settle", ident) for _ in range(3)]
    said = [answer(either.start(FLEET, "kill", ident, "--reason", "enough")), *(answer(child) for child in settlers)]
    assert [each.err for each in said if "Traceback" in each.err] == []
    assert said[0].code == 0, said[0]
    with either.fleet() as fleet:
        either.swept(fleet)
        assert status_of(fleet, "t") == ("failed", "killed: enough")


@pytest.mark.req("AGENT-9")
def test_a_stopped_task_can_be_dispatched_again_in_its_own_tree(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "write a.txt one", "commit A", "hang")
        either.shows(fleet, ident, "working: hang")
        fleet.dispatches.stop(ident)
        fleet.tasks.retry(project="p", slug="t")
        again = fleet.dispatches.start(Wanted(project="p", slug="t", engine="shell", command=("cat", "a.txt"))).id
        either.ended(fleet)
        assert fleet.agents.output(again) == "one\n"
        assert bundle_of(fleet, "t").generation == 2


@pytest.mark.req("AGENT-7")
def test_a_child_that_outlives_a_killed_agent_is_found_by_its_mark(scene):
    code = "import subprocess,time; subprocess.Popen(['setsid','sleep','1000']); time.sleep(1000)"
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", sys.executable, "-c", code)
        who = scene.launched(fleet, ident)
        until(lambda: len(fleet.world.processes.marked(ident)) >= 2)
        (child,) = [each for each in fleet.world.processes.marked(ident) if each.pid != who.pid]
        os.kill(who.pid, signal.SIGKILL)
        scene.exited(fleet, ident)
        scene.swept(fleet)
        assert not is_alive(child.pid)
        assert status_of(fleet, "t") == ("failed", "exit status 137, without a report")
