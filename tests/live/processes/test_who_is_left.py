"""Who is left of an agent that is dead: found by more than one proof, and no worktree is handed on beside an old writer."""

import contextlib
import ctypes
import json
import os
import pty
import signal
import sys
from pathlib import Path

import pytest
from staging.stage import acted, claim_of, is_alive, standing

from fleet.errors.contested import WorktreeBusy
from fleet.errors.refused import NotExcused
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.testing.crash.scenarios import until
from fleet.verbs.coord import tend
from fleet.verbs.dispatch import leftover_processes
from fleet.world.process import ps
from fleet.world.process.census import Census
from fleet.world.process.cgroups import Cgroups

# Leaves its session and overwrites the block in which the kernel shows its environment, as daemons do that set their title.
DAEMON = """
import ctypes, os, sys, time
if os.fork():
    os._exit(0)
os.setsid()
fields = open("/proc/self/stat").read().rpartition(")")[2].split()
ctypes.memset(int(fields[47]), 0, int(fields[48]) - int(fields[47]))
os.chdir(sys.argv[2])
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(1000)
"""
_SET_CHILD_SUBREAPER = 36
WRITER = "echo $$ >{0}.new; mv {0}.new {0}; while :; do date >>written; sleep 0.05; done"


@pytest.fixture
def no_cgroup(monkeypatch):
    monkeypatch.setattr(Cgroups, "place_for", lambda *_: None)


@pytest.fixture
def cgroup(scene):
    with scene.fleet() as fleet:
        if fleet.world.cgroups.place_for("aaaaaaaa", os.getpid()) is None:
            pytest.skip("no control group can be made here")


class Left:
    """An agent that starts something, and what it has started."""

    def __init__(self, scene, fleet, command: str) -> None:
        self.note = f"{scene.root}/pid"
        scene.without_hint(fleet)
        self.ident = scene.dispatch(fleet, "t", "sh", "-c", f"{command}\nexec sleep 1000")
        self.agent = scene.launched(fleet, self.ident)
        until(lambda: os.path.exists(self.note))
        self.pid = int(Path(self.note).read_text())
        self._scene = scene

    def die(self, fleet) -> None:
        os.kill(self.agent.pid, signal.SIGKILL)
        until(lambda: fleet.world.processes.life(self.agent) == "dead")

    def end(self) -> None:
        below = [pid for pid, parent in ps.parents().items() if parent == self.pid]
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        until(lambda: not any(map(is_alive, (self.pid, *below))))
        (self._scene.tree("t") / "written").unlink(missing_ok=True)


@pytest.fixture
def daemon(scene, tmp_path) -> str:
    """The command of an agent that starts a daemon without a mark, away from its worktree."""
    (tmp_path / "daemon.py").write_text(DAEMON)
    return f"{sys.executable} {tmp_path}/daemon.py {scene.root}/pid /"


@pytest.fixture(
    params=[
        "env -i PATH=$PATH setsid sh -c",
        "env -u FLEET_DISPATCH_ID setsid sh -c",
        # With a terminal of its own.
        "env -i PATH=$PATH SHELL=/bin/sh setsid -f script -q /dev/null -fc",
    ],
    ids=["no environment", "no mark", "a terminal"],
)
def writer(scene, request) -> str:
    """The command of an agent that starts a writer in its worktree, without its mark and in a session of its own."""
    return f"{request.param} '{WRITER.format(f'{scene.root}/pid')}' </dev/null >/dev/null 2>&1 &"


@pytest.fixture
def subreaper():
    """This process inherits whoever loses its parent below it, as a service manager does."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    yield
    libc.prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@pytest.mark.req("AGENT-7", "SWEEP-12", "SWEEP-8")
def test_what_a_sweep_saw_below_the_agent_is_ended_with_it(scene, no_cgroup, tmp_path):
    (tmp_path / "daemon.py").write_text(DAEMON.replace("if os.fork():\n    os._exit(0)\n", ""))
    with scene.fleet() as fleet:
        left = Left(scene, fleet, f"{sys.executable} {tmp_path}/daemon.py {scene.root}/pid / &")
        fleet.sweep.run(kill=False)
        assert fleet.context.dispatch(left.ident).descendants == "[]", "a dry run writes nothing"
        assert acted(fleet.sweep.run(kill=True)) == []
        noted = fleet.context.dispatch(left.ident).descendants
        assert f"/{left.pid}/" in noted
        before = fleet.operations.newest()
        leftover_processes.record_descendants(fleet.context, fleet.context.dispatch(left.ident))
        assert fleet.operations.newest() == before, "nothing new, nothing written"
        left.die(fleet)
        assert fleet.sessions.settle(left.ident).why == f"it left processes behind: {left.pid}"
        scene.swept(fleet)
        assert not is_alive(left.pid)
        assert fleet.agents.list() == []


@pytest.mark.req("AGENT-7")
def test_a_tick_writes_down_the_descendants_that_last(scene, no_cgroup, tmp_path, monkeypatch):
    (tmp_path / "daemon.py").write_text(DAEMON.replace("if os.fork():\n    os._exit(0)\n", ""))
    with scene.fleet() as fleet:
        left = Left(scene, fleet, f"{sys.executable} {tmp_path}/daemon.py {scene.root}/pid / &")
        monkeypatch.setattr(tend, "_RECORD_AFTER", 1000.0)
        assert tend.tend_dispatches(fleet.context, "p", []) == []
        assert fleet.context.dispatch(left.ident).descendants == "[]"
        monkeypatch.setattr(tend, "_RECORD_AFTER", 0.0)
        assert tend.tend_dispatches(fleet.context, "p", []) == []
        assert f"/{left.pid}/" in fleet.context.dispatch(left.ident).descendants
        left.die(fleet)
        (said,) = tend.tend_dispatches(fleet.context, "p", [])
        assert "ended failed" in said or "ended blocked" in said, said
        assert not is_alive(left.pid)


@pytest.mark.req("AGENT-7", "ADO-2")
def test_a_tick_says_who_keeps_a_worktree(scene, no_cgroup, writer):
    with scene.fleet() as fleet:
        left = Left(scene, fleet, writer)
        left.die(fleet)
        troubles: list[str] = []
        assert tend.tend_dispatches(fleet.context, "p", troubles) == []
        assert f"process {left.pid} (sh -c" in troubles[0]
        left.end()


@pytest.mark.req("AGENT-7", "AGENT-9")
def test_a_stopped_agents_unmarked_descendants_end_with_it(scene, no_cgroup, tmp_path):
    (tmp_path / "daemon.py").write_text(DAEMON.replace("if os.fork():\n    os._exit(0)\n", ""))
    with scene.fleet() as fleet:
        left = Left(scene, fleet, f"{sys.executable} {tmp_path}/daemon.py {scene.root}/pid / &")
        assert fleet.dispatches.stop(left.ident).settled
        assert not is_alive(left.pid)


@pytest.mark.req("AGENT-7", "SWEEP-12")
def test_whoever_is_in_the_session_that_the_agent_led_is_its_own(scene, no_cgroup):
    with scene.fleet() as fleet:
        note = f"{scene.root}/pid"
        script = f"echo $$ >{note}.new; mv {note}.new {note}; cd /; exec sleep 1000"
        left = Left(scene, fleet, f"env -i PATH=$PATH nohup sh -c '{script}' >/dev/null 2>&1 &")
        left.die(fleet)
        assert is_alive(left.pid)
        assert fleet.sessions.settle(left.ident).why == f"it left processes behind: {left.pid}"
        scene.swept(fleet)
        assert not is_alive(left.pid)
        assert fleet.agents.list() == []


@pytest.mark.req("AGENT-7")
def test_a_session_whose_leaders_pid_is_anothers_by_now_was_gone_before(scene, monkeypatch):
    with scene.fleet() as fleet:
        me = fleet.world.processes.me()
        common = {"parent": 1, "session": me.pid, "terminal": True, "start": me.start}
        entries = [ps.ProcessEntry(pid=me.pid, **common), ps.ProcessEntry(pid=me.pid + 1, **common)]
        monkeypatch.setattr(ps, "everyone", lambda: entries)
        census = Census(host=me.host, boot=me.boot, home=b"")
        assert census.in_session(me) == {me.pid, me.pid + 1}
        before = type(me)(host=me.host, boot=me.boot, pid=me.pid, start=str(int(me.start) - 1))
        assert census.in_session(before) == set()


@pytest.mark.req("AGENT-7", "ADO-2", "SWEEP-7")
def test_a_worktree_in_which_somebody_writes_is_not_handed_on(scene, no_cgroup, writer):
    with scene.fleet() as fleet:
        left = Left(scene, fleet, writer)
        left.die(fleet)
        told = fleet.sessions.settle(left.ident)
        assert not told.settled
        assert f"process {left.pid} (sh -c" in told.why
        with pytest.raises(WorktreeBusy, match=f"process {left.pid}"):
            scene.dispatch(fleet, "t", "sleep", "1000")
        assert acted(fleet.sweep.run(kill=True)) == []
        assert any("not handed on" in line for line in standing(fleet.sweep.run(kill=True)))
        refused = scene.program("resume", left.ident)
        assert (refused.code, f"process {left.pid}" in refused.err) == (14, True), refused
        assert is_alive(left.pid), "nobody is killed by a guess"
        assert fleet.tasks.show(project="p", slug="t").assignee == left.ident
        left.end()
        scene.swept(fleet)
        assert fleet.agents.list() == []


@pytest.mark.req("AGENT-7", "ADO-2")
def test_a_writer_that_an_older_program_inherited_from_a_dead_server_keeps_its_worktree(scene, no_cgroup, subreaper):
    with scene.fleet() as fleet:
        note = f"{scene.root}/pid"
        left = Left(scene, fleet, f"env -i PATH=$PATH setsid sh -c '{WRITER.format(note)}' >/dev/null 2>&1 &")
        server = scene.server(fleet)
        os.kill(server, signal.SIGKILL)
        os.waitpid(server, 0)
        left.die(fleet)
        until(lambda: Census(host="", boot="", home=b"").entries[left.pid].parent == os.getpid())
        told = scene.program("settle", left.ident)
        assert f"process {left.pid} (sh -c" in told.out + told.err, told
        assert is_alive(left.pid)
        os.kill(left.pid, signal.SIGKILL)
        os.waitpid(left.pid, 0)
        left.end()
        scene.swept(fleet)


@pytest.mark.req("AGENT-7")
def test_somebody_elsewhere_who_has_a_file_of_the_worktree_open_for_writing_keeps_it(scene, no_cgroup):
    with scene.fleet() as fleet:
        note = f"{scene.root}/pid"
        script = f"exec >>written; cd /; echo $$ >{note}.new; mv {note}.new {note}; exec sleep 1000"
        left = Left(scene, fleet, f"env -i PATH=$PATH setsid sh -c '{script}' &")
        left.die(fleet)
        assert f"process {left.pid} (sleep 1000)" in fleet.sessions.settle(left.ident).why
        left.end()
        assert fleet.sessions.settle(left.ident).settled


@pytest.mark.req("AGENT-7")
def test_a_persons_shell_and_editor_in_the_worktree_keep_nothing(scene, no_cgroup):
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        agent = scene.launched(fleet, ident)
        shell, terminal = pty.fork()
        if shell == 0:
            os.chdir(scene.tree("t"))
            os.execv("/bin/sh", ["sh", "-c", "nohup sleep 1000 >/dev/null & echo here; exec sleep 1000"])
        said = b""
        while b"here" not in said:
            said += os.read(terminal, 100)
        editor = scene.start("sleep", "1000", cwd=str(scene.tree("t")), env={"PATH": os.environ["PATH"]})
        pane = scene.tmux(
            "new-session", "-d", "-P", "-F", "#{pane_pid}", "-s", "by", "-c", str(scene.tree("t")), "sleep", "1000"
        )
        try:
            os.kill(agent.pid, signal.SIGKILL)
            until(lambda: fleet.world.processes.life(agent) == "dead")
            assert leftover_processes.find_remains(fleet.context, fleet.context.dispatch(ident)).strangers == []
            assert fleet.sessions.settle(ident).settled
            assert editor.poll() is None
            assert is_alive(int(pane))
        finally:
            os.kill(shell, signal.SIGKILL)
            os.waitpid(shell, 0)
            os.close(terminal)
            scene.tmux("kill-session", "-t", "=by")


@pytest.mark.req("AGENT-7", "SWEEP-12", "EXC-1")
def test_a_daemon_in_the_agents_control_group_is_its_own(scene, cgroup, daemon):
    is_ended_with_its_group(scene, daemon)


@pytest.mark.req("AGENT-7", "SWEEP-12", "EXC-1")
def test_a_writer_in_the_agents_control_group_is_its_own(scene, cgroup, writer):
    is_ended_with_its_group(scene, writer)


def is_ended_with_its_group(scene, command: str) -> None:
    with scene.fleet() as fleet:
        left = Left(scene, fleet, command)
        group = claim_of(fleet, "cgroup", left.ident)
        assert str(left.pid) in Path(group.name, "cgroup.procs").read_text().split()
        left.die(fleet)
        assert fleet.sessions.settle(left.ident).why.startswith("it left processes behind: ")
        scene.swept(fleet)
        assert not is_alive(left.pid)
        left.end()
        assert fleet.agents.list() == []
        assert claim_of(fleet, "cgroup", left.ident).state == "released"
        assert not os.path.exists(group.name)


@pytest.mark.req("EXC-1", "EXC-6")
@pytest.mark.skipif(
    "coverage" in sys.modules, reason="a parent that saves its measurements makes it a descendant for long"
)
def test_what_fleet_starts_for_an_agent_is_outside_its_control_group(scene, cgroup):
    with scene.fleet() as fleet:
        note = f"{scene.root}/pid"
        start = f"from fleet.api.fleet import Fleet; fleet = Fleet.open(); fleet.world.fleet_program = '{scene.root}/own'; fleet.world.start_fleet('x')"
        own = Path(scene.root, "own")
        own.write_text(f"#!/bin/sh\necho $$ >{note}.new; mv {note}.new {note}; exec sleep 1000\n")
        own.chmod(0o700)
        left = Left(scene, fleet, f'{sys.executable} -c "{start}"')
        group = claim_of(fleet, "cgroup", left.ident).name
        assert str(left.agent.pid) in Path(group, "cgroup.procs").read_text().split()
        assert str(left.pid) not in Path(group, "cgroup.procs").read_text().split()
        assert fleet.dispatches.kill(left.ident, "a test").settled
        assert is_alive(left.pid), "it works for fleet, not for the agent"
        left.end()


@pytest.mark.req("SWEEP-2")
def test_who_cannot_be_looked_into_is_listed_and_keeps_nothing(scene, no_cgroup, writer, monkeypatch):
    with scene.fleet() as fleet:
        left = Left(scene, fleet, writer)
        left.die(fleet)
        works_in = ps.works_in
        monkeypatch.setattr(ps, "works_in", lambda pid, folder: None if works_in(pid, folder) else False)
        (found,) = [each for each in fleet.sweep.run(kill=True) if left.ident in each.what]
        assert f"process {left.pid} (sh -c" in found.proof.partition("cannot be looked into: ")[2]
        assert found.done
        left.end()


@pytest.mark.req("SWEEP-1")
def test_one_look_at_the_processes_serves_all_agents(scene, monkeypatch):
    with scene.fleet() as fleet:
        for slug in ("one", "two", "three"):
            scene.launched(fleet, scene.dispatch(fleet, slug, "sleep", "1000"))
        asked = []
        everyone = ps.everyone
        monkeypatch.setattr(ps, "everyone", lambda: asked.append(1) or everyone())
        fleet.agents.list()
        assert asked == []
        fleet.sweep.run(kill=False)
        assert len(asked) == 2, "for those at work, and for the marks of those that have ended"


@pytest.fixture
def server(scene):
    """Starts a person's server in a worktree: detached, in a session of its own, with pid 1 or a service manager above it."""
    started: list[int] = []

    def start(slug: str) -> int:
        note = f"{scene.root}/server"
        words = ("setsid", "-f", "sh", "-c", f"echo $$ >{note}.new; mv {note}.new {note}; exec sleep 1000")
        scene.start(*words, cwd=str(scene.tree(slug)), env={"PATH": os.environ["PATH"]}).wait()
        until(lambda: os.path.exists(note))
        started.append(int(Path(note).read_text()))
        until(lambda: ps.command(started[-1]) == "sleep 1000")
        return started[-1]

    yield start
    for pid in started:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def dead_agent(scene, fleet, slug: str, start) -> tuple[str, int]:
    """A dispatch whose agent is dead, with a person's server in its worktree."""
    scene.without_hint(fleet)
    ident = scene.dispatch(fleet, slug, "sleep", "1000")
    agent = scene.launched(fleet, ident)
    pid = start(slug)
    os.kill(agent.pid, signal.SIGKILL)
    until(lambda: fleet.world.processes.life(agent) == "dead")
    return ident, pid


@pytest.mark.req("AGENT-7", "ADO-2")
def test_a_persons_server_outside_the_group_that_the_agent_joined_keeps_nothing(scene, cgroup, server):
    with scene.fleet() as fleet:
        ident, pid = dead_agent(scene, fleet, "t", server)
        claim = claim_of(fleet, "cgroup", ident)
        assert claim.data == {"joined": fleet.context.dispatch(ident).process, "view": fleet.world.cgroups.view()}
        assert fleet.sessions.settle(ident).settled
        assert is_alive(pid)


@pytest.mark.req("AGENT-7", "ADO-2")
@pytest.mark.parametrize("learnt", [{}, {"joined": "another"}, {"view": "another"}, {"view": ""}])
def test_a_group_that_the_agent_is_not_known_to_have_joined_clears_nobody(scene, cgroup, server, learnt):
    with scene.fleet() as fleet:
        ident, pid = dead_agent(scene, fleet, "t", server)
        claim = claim_of(fleet, "cgroup", ident)
        data = json.dumps({**claim.data, **learnt} if learnt else {})

        def work(tx):
            return {"changed": q.set_claim_data(tx, id=claim.id, data=data, at=tx.at)}

        fleet.commit(Change("a test", work))
        assert f"process {pid} (sleep 1000)" in fleet.sessions.settle(ident).why
        assert is_alive(pid)
        os.kill(pid, signal.SIGKILL)
        until(lambda: fleet.sessions.settle(ident).settled)


@pytest.mark.req("AGENT-7", "ADO-2")
def test_whoever_is_forked_while_the_processes_are_counted_is_not_overlooked(scene, cgroup, monkeypatch):
    with scene.fleet() as fleet:
        note = f"{scene.root}/pid"
        left = Left(scene, fleet, f"env -i PATH=$PATH setsid sh -c '{WRITER.format(note)}' >/dev/null 2>&1 &")
        left.die(fleet)
        census = fleet.world.processes.census()
        inside = fleet.world.cgroups.members(claim_of(fleet, "cgroup", left.ident).name)
        for pid in {left.pid, *inside}:
            census.entries.pop(pid, None)
        found = leftover_processes.find_remains(fleet.context, fleet.context.dispatch(left.ident), census)
        assert left.pid in [who.pid for who in found.ours]
        scene.swept(fleet)
        left.end()


@pytest.mark.req("AGENT-7", "ADO-2")
def test_a_person_says_that_a_server_is_not_the_agents_and_the_next_agent_starts(scene, no_cgroup, server):
    with scene.fleet() as fleet:
        ident, pid = dead_agent(scene, fleet, "t", server)
    words = f"dispatches settle {ident} --not-ours {pid}"
    who = f"process {pid} (sleep 1000)"
    again = ("dispatch", "t", "-p", "p", "--engine", "shell", "--", "sleep", "1000")
    scene.program(*again).refused(12, who, f"`fleet {words}`")
    for asked in (("status",), ("task", "why", "t", "-p", "p"), ("settle", ident), ("resume", ident)):
        told = scene.program(*asked)
        assert who in " ".join((told.out + told.err).split()), asked
        assert f"fleet {words}" in " ".join((told.out + told.err).split()), asked
    scene.program("dispatches", "settle", ident).refused(14, who, f"`fleet {words}`")
    assert f"{ident} is settled" in scene.program(*words.split()).ok().out
    scene.program("task", "retry", "t", "-p", "p").ok()
    scene.program(*again).ok()
    assert is_alive(pid), "it is only a word"


@pytest.mark.req("AGENT-7")
def test_what_a_person_says_holds_for_one_process_and_its_children(scene, no_cgroup, server):
    with scene.fleet() as fleet:
        ident, pid = dead_agent(scene, fleet, "t", server)
        census = fleet.world.processes.census()
        row = fleet.context.dispatch(ident)
        assert fleet.dispatches.excuse(ident, [pid]).as_json() == {"id": ident, "not_ours": [str(census.identity(pid))]}
        assert fleet.dispatches.excuse(ident, [pid]).as_json() == {"id": ident, "not_ours": []}, "it was said before"
        assert leftover_processes.find_remains(fleet.context, row).strangers == []
        entry = census.entries[pid]
        entry.start = str(int(entry.start) + 1)
        assert leftover_processes.find_remains(fleet.context, row, census).strangers == [pid], (
            "another process has its pid by now"
        )
        other = scene.dispatch(fleet, "u", "sleep", "1000")
        assert (
            leftover_processes.excused_pids(
                fleet.context, fleet.context.dispatch(other), fleet.world.processes.census()
            )
            == []
        )


@pytest.mark.req("AGENT-7")
def test_only_who_keeps_a_worktree_is_excused(scene, no_cgroup, server):
    with scene.fleet() as fleet:
        note = f"{scene.root}/pid"
        script = f"echo $$ >{note}.new; mv {note}.new {note}; exec sleep 1000"
        left = Left(scene, fleet, f"setsid sh -c '{script}' &")
        left.die(fleet)
        pid = server("t")
        gone = scene.start("true")
        gone.wait()
        for each, why in ((left.pid, "proven to be of"), (gone.pid, "no such process"), (1, "does not block")):
            with pytest.raises(NotExcused, match=f"process {each} is not excused from {left.ident}: .*{why}"):
                fleet.dispatches.excuse(left.ident, [pid, each])
        assert pid in leftover_processes.find_remains(fleet.context, fleet.context.dispatch(left.ident)).strangers, (
            "all of them, or none"
        )
        scene.swept(fleet)
        fleet.dispatches.excuse(left.ident, [pid])
        assert fleet.sessions.settle(left.ident).settled


@pytest.mark.req("AGENT-7", "SEC-1")
def test_no_agent_says_that_a_process_is_not_its_own(scene, no_cgroup, server):
    with scene.fleet() as fleet:
        ident, pid = dead_agent(scene, fleet, "t", server)
    told = scene.program(
        "dispatches", "settle", ident, "--not-ours", str(pid), env=scene.around(FLEET_DISPATCH_ID=ident)
    )
    told.refused(14, "only a person decides that")
    scene.program("dispatches", "settle", ident, "--not-ours", str(pid)).ok()
