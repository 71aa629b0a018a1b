"""A machine that is no more: what it had is unknown, never dead; a person says so, its work is kept and its task goes on."""

import os
import subprocess
from pathlib import Path

import pytest
from staging.stage import acted, claim_of, is_alive, raw, standing, status_of

from fleet.errors.refused import CoordinatorLives, NotDisowned, NotResumable
from fleet.testing.crash.scenarios import until
from fleet.testing.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted
from fleet.world import host

COORD = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))


def another_machine(monkeypatch, tmp_path: Path) -> None:
    """This machine gets another id, as a container does that has none of its own."""
    (tmp_path / "machine-id").write_text("another-machine\n")
    monkeypatch.setattr(host, "_ID_FILES", (str(tmp_path / "machine-id"),))


def lost(stage, fleet, slug: str) -> str:
    """An agent with uncommitted work in its tree, gone with its tmux server; nobody has noticed."""
    stage.without_hint(fleet)
    ident = stage.dispatch(fleet, slug, "sh", "-c", "echo work > work; exec sleep 1000")
    pid = stage.launched(fleet, ident).pid
    until(lambda: os.path.exists(path := stage.tree(slug) / "work") and path.read_text() == "work\n")
    subprocess.run(["tmux", "-S", f"{stage.home}/tmux.sock", "kill-server"], check=False, capture_output=True)
    until(lambda: not is_alive(pid))
    return ident


@pytest.mark.req("EXC-10", "RES-10")
def test_a_new_machine_id_leaves_everything_to_the_home_and_a_person_can_end_what_it_strands(
    either, monkeypatch, tmp_path
):
    with either.fleet() as fleet:
        ident = lost(either, fleet, "t")
        here = fleet.world.host.id
    with monkeypatch.context() as patch, either.fleet() as fleet:
        another_machine(patch, tmp_path)
        assert (fleet.world.host.id, fleet.world.host.machine_id) == (here, "another-machine")
        with pytest.raises(NotResumable) as caught:
            fleet.dispatches.resume(ident)
        assert f"fleet dispatches disown {ident}" in caught.value.spoken
        assert f"fleet dispatches disown {ident}" in fleet.sessions.settle(ident).why
        assert acted(fleet.sweep.run(kill=True)) == []
        assert any(ident in line for line in standing(fleet.sweep.run(kill=False)))
        done = fleet.homes.disown(ident, "the container is gone")
        assert (done.exec_state, done.left) == ("blocked", [])
        status, reason = status_of(fleet, "t")
        assert (status, "the container is gone" in (reason or "")) == ("blocked", True)
        assert (either.tree("t") / "work").read_text() == "work\n"
        assert claim_of(fleet, "worktree", slug="t").state == "live"
        assert f"disown {ident}: the container is gone" in either.program("ops").out
    with either.fleet() as fleet:
        successor = fleet.dispatches.resume(ident).id
        either.launched(fleet, successor)
        assert (either.tree("t") / "work").exists(), "it goes on in the same tree"
        assert fleet.dispatches.kill(successor, "a test").settled
        (either.tree("t") / "work").unlink()


@pytest.mark.req("EXC-10")
def test_an_ended_dispatch_is_reclaimed_though_the_machine_has_another_id(either, monkeypatch, tmp_path):
    with either.fleet() as fleet:
        ident = either.killed(fleet, "t")
        fleet.tasks.archive(project=PROJECT, slug="t")
    another_machine(monkeypatch, tmp_path)
    with either.fleet() as fleet:
        until(lambda: not acted(fleet.sweep.run(kill=True)) and fleet.dispatches.show(ident).archived)
        assert (fleet.claims.list(), either.tree("t").exists()) == ([], False)


@pytest.mark.req("EXC-10")
def test_what_is_alive_or_can_be_judged_is_not_disowned(scene, monkeypatch, tmp_path):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        who = scene.launched(fleet, ident)
        with pytest.raises(NotDisowned, match=f"alive here: process {who.pid}"):
            fleet.homes.disown(ident, "a test")
    with monkeypatch.context() as patch:
        another_machine(patch, tmp_path)
        with scene.fleet() as fleet, pytest.raises(NotDisowned, match=str(who.pid)):
            fleet.homes.disown(ident, "it carries its id all the same")
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        os.kill(who.pid, 9)
        until(lambda: not is_alive(who.pid))
        with pytest.raises(NotDisowned, match="can be judged here"):
            fleet.homes.disown(ident, "a test")
    answer = scene.program("dispatches", "disown", ident, "--reason", "x", env=scene.around(FLEET_DISPATCH_ID=ident))
    assert (answer.code, "only a person" in answer.err) == (14, True)


@pytest.mark.req("EXC-10", "GATE-7")
def test_a_coordinator_of_another_machine_vetoes_until_it_is_disowned(scene, monkeypatch, tmp_path):
    with scene.fleet() as fleet:
        ident = fleet.coord.start(COORD).id
        pid = scene.launched(fleet, ident).pid
        subprocess.run(["tmux", "-S", f"{scene.home}/tmux.sock", "kill-server"], check=False, capture_output=True)
        until(lambda: not is_alive(pid))
    another_machine(monkeypatch, tmp_path)
    with scene.fleet() as fleet:
        with pytest.raises(CoordinatorLives) as caught:
            fleet.coord.start(COORD)
        assert f"fleet dispatches disown {ident}" in caught.value.spoken
        assert fleet.homes.disown(ident, "that machine is gone").exec_state == "blocked"
        assert fleet.coord.show(PROJECT).state == "ended"
        fleet.coord.stop(PROJECT, "a test")


@pytest.mark.req("EXC-10")
def test_a_dispatch_of_a_home_that_is_no_more_is_taken_over_and_its_worktree_given_up_as_a_row(either):
    with either.fleet() as fleet:
        ident = lost(either, fleet, "t")
        gone = "UPDATE {} SET home = '0123456789ab', host = 'gone'"
        for table in ("dispatches", "claims"):
            raw(fleet, gone.format(table))
        raw(fleet, "UPDATE dispatches SET process = 'gone/b/1/1', server = 'gone/b/2/2'")
        raw(fleet, "UPDATE claims SET name = REPLACE(name, '/home/', '/gone/')")
        assert fleet.homes.disown(ident, "that machine is gone").exec_state == "blocked"
        assert [each["kind"] for each in fleet.claims.list() if each["state"] == "live"] == []
        assert (fleet.dispatches.show(ident).home, fleet.dispatches.show(ident).archived) == (
            fleet.world.record.id,
            True,
        )
        assert (either.tree("t") / "work").exists(), "nothing outside is touched"
        fleet.tasks.retry(project=PROJECT, slug="t")
        assert status_of(fleet, "t")[0] == "open"
    either.forgiven = {"worktree", "workers", "inbox"}


@pytest.mark.req("EXC-10")
def test_what_is_seen_here_is_not_disowned_though_nobody_can_tell_whose_it_is(scene):
    child = subprocess.Popen(["sleep", "1000"])
    scene.started.append(child)
    with scene.fleet() as fleet:
        ident = lost(scene, fleet, "t")
        me = fleet.world.processes.identify(child.pid)
        raw(fleet, f"UPDATE dispatches SET process = 'another/boot/{me.pid}/{me.start}' WHERE id = '{ident}'")
        with pytest.raises(NotDisowned, match=f"it is alive here: process {child.pid}"):
            fleet.homes.disown(ident, "the machine is gone")
        child.kill()
        child.wait()
        assert fleet.homes.disown(ident, "the machine is gone").exec_state == "blocked"
    (scene.tree("t") / "work").unlink()


@pytest.mark.req("EXC-10")
def test_a_machine_id_that_is_not_ascii_is_none(monkeypatch, tmp_path):
    (tmp_path / "machine-id").write_bytes(b"caf\xc3\xa9\n")
    monkeypatch.setattr(host, "_ID_FILES", (str(tmp_path / "machine-id"),))
    assert host.Host().machine_id == os.uname().nodename
