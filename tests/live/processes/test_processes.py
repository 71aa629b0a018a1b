"""Processes: dead is proven, or it is not dead."""

import os
import signal
import subprocess
import sys

import pytest
from staging.stage import acted, is_alive

from fleet.model.identity import Identity
from fleet.testing.crash.scenarios import until


@pytest.mark.req("AGENT-3")
def test_a_zombie_is_dead_and_a_reused_pid_is_somebody_else_who_is_never_signalled(scene):
    with scene.fleet() as fleet, subprocess.Popen(["sleep", "1000"]) as other:
        processes = fleet.world.processes
        now = processes.identify(other.pid)
        before = Identity(host=now.host, boot=now.boot, pid=now.pid, start=str(int(now.start) - 1))
        assert (processes.life(now), processes.life(before)) == ("alive", "dead")
        assert processes.signal(before, signal.SIGKILL) is False
        processes.kill_all([before])
        assert other.poll() is None
        os.kill(other.pid, signal.SIGKILL)
        until(lambda: not is_alive(other.pid))  # nobody has waited for it: it is a zombie now
        assert os.path.exists(f"/proc/{other.pid}")
        assert processes.life(now) == "dead"
        assert processes.life(Identity(host="elsewhere", boot=now.boot, pid=1, start="1")) == "unknown"


@pytest.mark.req("AGENT-3", "GATE-12")
def test_a_stopped_agent_is_alive_however_long_it_is_silent(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        who = scene.launched(fleet, ident)
        os.kill(who.pid, signal.SIGSTOP)
        assert acted(fleet.sweep.run(kill=True)) == []
        assert fleet.sessions.settle(ident).settled is False
        assert is_alive(who.pid)


@pytest.mark.req("AGENT-3", "SWEEP-12")
def test_the_hint_of_a_death_is_not_taken_for_a_process_of_the_dead(scene):
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        ident = scene.dispatch(fleet, "t", "true")
        scene.exited(fleet, ident)
        around = scene.around(FLEET_DISPATCH_ID=ident)
        waiting = "import time; time.sleep(1000)"
        hint = scene.start(sys.executable, "-c", waiting, "settle", "--hint", f"fleet-{ident}", env=around)
        other = scene.start("sleep", "1000", env=around)
        until(lambda: [who.pid for who in fleet.world.processes.marked(ident)] == [other.pid])
        assert fleet.world.processes.marks() == {ident: [fleet.world.processes.identify(other.pid)]}
        other.kill()
        other.wait(60)
        assert fleet.sessions.settle(ident).settled, "though the hint is there"
        assert is_alive(hint.pid)
