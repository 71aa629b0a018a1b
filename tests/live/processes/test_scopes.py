"""An agent's control group where systemd runs: a scope of the user's manager, joined before the agent begins."""

import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from live.processes.test_who_is_left import WRITER, Left, is_ended_with_its_group
from staging.stage import Stage, acted, answer, claim_of, is_alive
from staging.systemd import FAILS, HANGS, WORKS, Systemd, without

from fleet.testing.crash.scenarios import until
from fleet.verbs.dispatch import leftover_processes
from fleet.world import world
from fleet.world.clock import Clock
from fleet.world.funnel import Funnel
from fleet.world.process import cgroups
from fleet.world.process.cgroups import Cgroups
from fleet.world.process.programs import Programs
from fleet.world.process.scopes import Places, Scopes


@pytest.fixture
def systemd(scene: Stage, tmp_path):
    """A machine on which systemd has delegated nothing, and keeps this user's manager."""
    with scene.fleet() as fleet:
        place = fleet.world.cgroups.place_for("aaaaaaaa", os.getpid())
    if place is None:
        pytest.skip("no control group can be made here")
    mine = next(line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
    around = re.sub(r"/fleet-[0-9a-f]{12}-[0-9a-f]{8}(/.*)?$", "", mine)  # an agent of fleet's may run the tests
    made = Systemd(tmp_path, os.path.dirname(place), around)
    made.folder.mkdir()
    made.answer(WORKS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cgroups, "Cgroups", partial(Cgroups, places=made.places))
        patch.setattr(world, "fleet_program", made.fleet)
        patch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
        patch.delenv("XDG_RUNTIME_DIR", raising=False)
        yield made
    for child in scene.started:
        child.kill()
    subprocess.run(["tmux", "-S", f"{scene.home}/tmux.sock", "kill-server"], capture_output=True, check=False)
    until(lambda: made.remove() or not made.folder.exists())


@pytest.fixture(params=["fails", "hangs", "is missing"])
def broken(systemd: Systemd, request, tmp_path, monkeypatch) -> Systemd:
    """The user's manager cannot be asked."""
    systemd.answer(HANGS if request.param == "hangs" else FAILS)
    if request.param == "is missing":
        monkeypatch.setenv("PATH", without(tmp_path / "programs", "busctl"))
    return systemd


@pytest.mark.req("AGENT-7", "SWEEP-12", "EXC-1")
def test_a_writer_in_the_agents_scope_is_its_own(scene, systemd):
    is_ended_with_its_group(
        scene, f"env -i PATH=$PATH setsid sh -c '{WRITER.format(f'{scene.root}/pid')}' >/dev/null 2>&1 &"
    )


@pytest.mark.req("AGENT-7", "EXC-1")
def test_the_users_manager_is_asked_once_for_a_delegated_scope(scene, systemd):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        who = scene.launched(fleet, ident)
        claim = claim_of(fleet, "cgroup", ident)
        unit = f"fleet-{fleet.world.record.id}-{ident}.scope"
        assert claim.name == f"{systemd.scopes}/{unit}"
        assert claim.data == {"joined": str(who), "view": fleet.world.cgroups.view()}
        assert Path(claim.name, "cgroup.procs").read_text().split() == [str(who.pid)]
        (call,) = systemd.calls()
        assert call == (
            f"XDG_RUNTIME_DIR={systemd.places.runtime} --user call org.freedesktop.systemd1 /org/freedesktop/systemd1 "
            "org.freedesktop.systemd1.Manager StartTransientUnit ssa(sv)a(sa(sv)) "
            f"{unit} fail 4 PIDs au 1 {who.pid} Slice s app.slice Delegate b true CollectMode s inactive-or-failed 0"
        )


@pytest.mark.req("AGENT-7", "ADO-2")
def test_an_agent_starts_without_its_scope_when_the_manager_cannot_be_asked(scene, broken):
    with scene.fleet() as fleet:
        note = f"{scene.root}/pid"
        left = Left(scene, fleet, f"env -i PATH=$PATH setsid sh -c '{WRITER.format(note)}' >/dev/null 2>&1 &")
        claim = claim_of(fleet, "cgroup", left.ident)
        assert (claim.state, claim.data, os.path.exists(claim.name)) == ("live", {}, False)
        left.die(fleet)
        assert f"process {left.pid} (sh -c" in fleet.sessions.settle(left.ident).why, (
            "nothing proves that it is a person's"
        )
        left.end()
        scene.swept(fleet)
        assert claim_of(fleet, "cgroup", left.ident).state == "released"


@pytest.mark.req("SWEEP-1", "EXC-6")
def test_a_scope_that_no_agent_has_joined_is_released_with_its_dispatch(scene, systemd):
    never = systemd.root / "bin" / "never"
    never.write_text(f'#!/bin/sh\n[ $1 = launch ] && exit 1\nexec {systemd.fleet()} "$@"\n')
    never.chmod(0o700)
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        fleet.world.fleet_program = str(never)
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        claim = claim_of(fleet, "cgroup", ident)
        assert (claim.state, os.path.exists(claim.name)) == ("live", False)
        scene.swept(fleet)
        assert fleet.agents.list() == []
        assert claim_of(fleet, "cgroup", ident).state == "released"
        assert systemd.calls() == []


@pytest.mark.req("SWEEP-3", "SWEEP-8")
def test_a_scope_that_no_claim_speaks_of_goes_when_it_is_empty(scene, systemd):
    with scene.fleet() as fleet:
        mine = systemd.scopes / f"fleet-{fleet.world.record.id}-0000000a.scope"
        others = systemd.scopes / "fleet-00000000000b-0000000a.scope"
        outside = systemd.scopes / f"fleet-{fleet.world.record.id}-outside-1.scope"
        for each in (mine, others, outside):
            each.mkdir(parents=True)
        inside = scene.start("sleep", "1000")
        (mine / "cgroup.procs").write_text(str(inside.pid))
        assert acted(fleet.sweep.run(kill=True)) == []
        (found,) = [each for each in fleet.sweep.run(kill=True) if each.what == str(mine)]
        assert (found.standing, f"process {inside.pid}" in found.proof) == (True, True), found
        inside.kill()
        inside.wait()
        until(lambda: not fleet.world.cgroups.members(str(mine)))
        assert [each.what for each in fleet.sweep.run(kill=True) if each.done] == [str(mine)]
        assert (mine.exists(), others.exists(), outside.exists()) == (False, True, True)


OUTSIDE = """
import os, subprocess, sys
from pathlib import Path
from fleet.world.process.cgroups import Cgroups
from fleet.world.clock import Clock
from fleet.world.funnel import Funnel
from fleet.world.process.programs import Programs
from fleet.world.process.scopes import Places
os.makedirs(sys.argv[1], exist_ok=True)
Path(sys.argv[1], "cgroup.procs").write_text("0")
groups = Cgroups(Funnel(), "0" * 12, programs=Programs(Funnel()), clock=Clock(), places=Places(**eval(sys.argv[2])))
words = groups.outside(["cat", "/proc/self/cgroup"], must=sys.argv[3] == "must")
done = subprocess.run(words, capture_output=True, text=True)
print(done.returncode, done.stdout, done.stderr)
"""


@pytest.fixture
def outside(scene, systemd):
    """What a program says of its group that somebody in an agent's scope starts outside of it."""

    def run(must: str) -> str:
        places = {name: getattr(systemd.places, name) for name in systemd.places.__slots__}
        scope = str(systemd.scopes / f"fleet-{'0' * 12}-0000000a.scope")
        return answer(scene.start(sys.executable, "-c", OUTSIDE, scope, repr(places), must)).out

    return run


@pytest.mark.req("EXC-6")
def test_what_is_started_outside_an_agents_scope_has_a_scope_of_its_own(systemd, outside):
    said = outside("must")
    assert said.startswith("0 "), said
    assert f"{systemd.places.manager}/app.slice/fleet-{'0' * 12}-outside-" in said


@pytest.mark.req("EXC-6")
def test_a_tmux_server_is_not_started_in_an_agents_scope(broken, outside):
    assert outside("must").startswith("1 "), "it would be killed with the agent, and every other agent with it"
    assert "0000000a.scope" in outside("")


@pytest.mark.req("AGENT-7")
def test_a_persons_server_beside_the_scope_keeps_nothing(scene, systemd):
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        agent = scene.launched(fleet, ident)
        note = f"{scene.root}/pid"
        words = ("setsid", "-f", "sh", "-c", f"echo $$ >{note}.new; mv {note}.new {note}; exec sleep 1000")
        scene.start(*words, cwd=str(scene.tree("t")), env={"PATH": os.environ["PATH"]})
        until(lambda: os.path.exists(note))
        server = int(Path(note).read_text())
        os.kill(agent.pid, signal.SIGKILL)
        until(lambda: fleet.world.processes.life(agent) == "dead")
        try:
            assert leftover_processes.find_remains(fleet.context, fleet.context.dispatch(ident)).strangers == []
            assert fleet.sessions.settle(ident).settled
            assert is_alive(server)
        finally:
            os.kill(server, signal.SIGKILL)


@pytest.mark.req("EXC-6")
@pytest.mark.parametrize("missing", ["", "systemd", "linger"])
def test_no_scope_is_asked_for_unless_systemd_runs_and_lingering_keeps_the_manager(tmp_path, missing):
    (tmp_path / "systemd").mkdir()
    (tmp_path / "linger").mkdir()
    (tmp_path / "linger" / pwd.getpwuid(os.getuid()).pw_name).touch()
    if missing:
        shutil.rmtree(tmp_path / missing)
    places = Places(systemd=f"{tmp_path}/systemd", linger=f"{tmp_path}/linger")
    assert Scopes(Programs(Funnel()), Clock(), places).are_kept() == (missing == "")
