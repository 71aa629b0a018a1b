"""Contradicting evidence is unknown: another view of boot, pid namespace or /proc ends nobody and removes no lock."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from live.processes.test_sandboxes import SANDBOX
from staging.stage import FLEET, acted, answer, is_alive, status_of

from fleet.model.identity import Identity
from fleet.testing.crash.scenarios import until
from fleet.world.funnel import Funnel
from fleet.world.host import Host
from fleet.world.process import pid_namespaces, ps
from fleet.world.process.pid_namespaces import PidNamespaces
from fleet.world.process.processes import Processes


@pytest.fixture
def sandbox() -> tuple[str, ...]:
    can = shutil.which("unshare") and subprocess.run([*SANDBOX, "true"], capture_output=True, check=False)
    if not can or can.returncode != 0:
        pytest.skip("no sandbox can be made here")
    return SANDBOX


@pytest.mark.req("EXC-2", "EXC-7", "AGENT-3", "SWEEP-7")
def test_an_agent_that_is_there_though_the_boot_is_another_is_not_ended(scene, monkeypatch):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        who = scene.launched(fleet, ident)
    with monkeypatch.context() as patch:
        patch.setattr(Host, "boot", property(lambda _host: "another-boot"))
        with scene.fleet() as fleet:
            assert fleet.world.processes.life(who) == "unknown"
            assert acted(fleet.sweep.run(kill=True)) == []
            assert fleet.sessions.settle(ident).why == "its process is unknown"
            assert [agent.state for agent in fleet.agents.list()] == ["unknown"]
    assert is_alive(who.pid)
    with scene.fleet() as fleet:
        assert status_of(fleet, "t")[0] == "in_progress"


@pytest.mark.req("EXC-2", "EXC-7", "AGENT-3")
def test_a_process_in_a_room_below_is_seen_by_its_pid_there(tmp_path, sandbox):
    """A container with a boot id of its own, as some give it: looked at from outside it."""
    script = "cut -d' ' -f22 /proc/$$/stat; exec sleep 1000"
    with subprocess.Popen([*sandbox, "sh", "-c", script], stdout=subprocess.PIPE, text=True) as child:
        start = child.stdout.readline().strip()
        processes = Processes(Host(), Funnel(), str(tmp_path), str(tmp_path / "tmux.sock"))
        me = processes.me()
        there = Identity(host=me.host, boot="boot-of-its-own.pid:[7]", pid=1, start=start)
        assert processes.life(there) == "unknown"
        child.kill()
    until(lambda: processes.life(there) == "dead")


@pytest.mark.req("EXC-2", "EXC-7", "AGENT-3")
def test_whoever_holds_the_lock_of_its_room_is_not_dead_though_nobody_sees_it(scene):
    """Its server is gone, and with that all that could be reached of it."""
    there = f"{Host().boot.partition('.')[0]}.pid:[7]"
    socket = f"{scene.root}/no.sock"
    outside = PidNamespaces(scene.home, there, socket)
    processes = Processes(Host(), Funnel(), scene.home, socket)
    who = Identity(host=processes.me().host, boot=there, pid=12345678, start="1")
    outside.enter()
    assert processes.life(who) == "unknown"
    outside.leave()
    assert processes.life(who) == "dead", "its room is gone"


@pytest.mark.req("EXC-2", "AGENT-3")
def test_an_agent_its_server_and_what_fleet_runs_hold_the_lock_of_their_room(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        who, server = scene.launched(fleet, ident), scene.server(fleet)
        path = f"{scene.home}/rooms/{Host().boot}"
        assert {who.pid, server, os.getpid()} <= set(ps.holders(path) or [])
    assert os.getpid() not in (ps.holders(path) or []), "a fleet that is closed does not"


@pytest.mark.req("EXC-2", "EXC-7")
def test_where_proc_is_of_another_room_nothing_is_known(scene, monkeypatch):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        who = scene.launched(fleet, ident)
    with monkeypatch.context() as patch:
        patch.setattr(pid_namespaces, "_is_own_view", lambda: False)
        processes = Processes(Host(), Funnel(), scene.home, f"{scene.home}/tmux.sock")
        assert (Host().boot, processes.life(who), processes.life(processes.me())) == ("", "unknown", "unknown")
        assert not PidNamespaces(scene.home, Host().boot, "").sees_everyone()


@pytest.mark.req("EXC-2", "EXC-7")
def test_a_proc_from_outside_a_sandbox_is_told_from_its_own(sandbox):
    """As in a container into which the machine's /proc is mounted."""
    words = [word for word in sandbox if word != "--mount-proc"]
    look = "from fleet.world.host import Host; from fleet.world.process import pid_namespaces as rooms; print([Host().boot, rooms.own(), rooms.shows_everyone()])"
    said = subprocess.run([*words, sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "['', None, False]"


@pytest.mark.req("ADO-12", "EXC-7")
def test_from_a_sandbox_no_lock_of_a_git_outside_is_removed(scene, sandbox):
    """The git has closed its lock, as one that waits for an editor has, and cannot be seen."""
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        ident = scene.dispatch(fleet, "t", engine="scripted", script="write a.txt hello\ncommit Add a\ndone\n")
        scene.exited(fleet, ident)
        until(lambda: not fleet.world.processes.marked(ident))
        assert fleet.sessions.settle(ident).settled
    lock = Path(scene.repository, ".git", "refs", "heads", "fleet", "main.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    outside = Path(scene.root, "git")
    shutil.copy(shutil.which("sleep"), outside)
    with subprocess.Popen([outside, "1000"], cwd=scene.repository) as living:
        said = answer(scene.start(*sandbox, FLEET, "merge", "t", "-p", "p"))
        assert (said.code != 0, lock.exists()) == (True, True), said
        living.kill()
    lock.unlink()


LOOK = """
from fleet.api.fleet import Fleet
with Fleet.open('{home}') as fleet:
    print(fleet.world.namespaces.sees_everyone())
    print(fleet.world.git.set_branch('{repository}', 'x', new='{commit}', old='0' * 40))
"""


@pytest.mark.req("ADO-12", "RES-12")
@pytest.mark.parametrize("shared", [False, True])
def test_a_restarted_container_gets_past_the_lock_of_the_one_before_unless_another_lives(
    scene, sandbox, tmp_path, shared
):
    home, commit = tmp_path / "home", scene.git("rev-parse", "HEAD")
    lock = Path(scene.repository, ".git", "refs", "heads", "x.lock")

    def inside(text: str) -> tuple[str, ...]:
        return (*sandbox, sys.executable, "-c", text.format(home=home, repository=scene.repository, commit=commit))

    stay = "import time\nfrom fleet.api.fleet import Fleet\nfleet = Fleet.open('{home}')\nfleet.world\nprint('in', flush=True)\ntime.sleep(1000)"
    before = scene.start(*inside(stay))
    assert before.stdout.readline() == "in\n"
    lock.touch()
    if not shared:
        before.kill()
        before.wait(60)
    said = answer(scene.start(*inside(LOOK)))
    assert said.out.split() == (["False", "False"] if shared else ["True", "True"]), said
    assert lock.exists() == shared
    lock.unlink(missing_ok=True)


@pytest.mark.req("ADO-12")
def test_where_proc_hides_processes_a_lock_stays(scene, monkeypatch):
    monkeypatch.setattr(pid_namespaces, "shows_everyone", lambda: False)
    lock = Path(scene.repository, ".git", "refs", "heads", "x.lock")
    lock.touch()
    with scene.fleet() as fleet:
        assert not fleet.world.git.set_branch(scene.repository, "x", new=scene.git("rev-parse", "HEAD"), old="0" * 40)
        assert lock.exists()
    lock.unlink()


@pytest.mark.req("ADO-12")
def test_a_git_with_another_view_of_the_files_is_known_to_be_near(scene, sandbox):
    """As in a container that has the repository at another place."""
    git = Path(scene.root, "git")
    shutil.copy(shutil.which("sleep"), git)
    lock = Path(scene.repository, "any.lock")
    lock.touch()
    with lock.open("a") as file:
        assert ps.holders(str(lock)) == [os.getpid()]
        file.flush()
    there = f"mount --bind {scene.repository} /mnt && cd /mnt && exec {git} 1000"
    words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", there]
    with subprocess.Popen(words, cwd="/") as near:
        until(lambda: near.pid in (ps.running("git", scene.repository) or []))
        near.kill()
    words = ["unshare", "--user", "--map-root-user", "--mount", str(git), "1000"]
    with subprocess.Popen(words, cwd="/") as elsewhere:
        until(lambda: ps.program(elsewhere.pid) == "git")
        assert elsewhere.pid not in (ps.running("git", scene.repository) or [])
        elsewhere.kill()
    lock.unlink()


@pytest.mark.req("SWEEP-8")
def test_rooms_that_are_gone_are_forgotten_by_a_sweep(scene):
    gone = f"{scene.home}/rooms/{Host().boot.partition('.')[0]}.pid:[7]"
    with scene.fleet() as fleet:
        fleet.sweep.run(kill=False)
        Path(gone).touch(mode=0o600)
        Path(scene.home, "rooms", "boot-before").touch(mode=0o600)
        fleet.sweep.run(kill=True)
    assert os.listdir(f"{scene.home}/rooms") == [Host().boot]
