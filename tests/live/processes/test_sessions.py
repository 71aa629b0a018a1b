"""Sessions: exact names, marks, and three answers: alive, dead, unknown."""

import contextlib
import os
import signal
from pathlib import Path

import pytest
from staging.stage import FLEET, acted, answer, claim_of, is_alive, standing

from fleet.errors.families import FleetError
from fleet.errors.tools import TmuxRefused
from fleet.resources import KINDS
from fleet.testing.crash.scenarios import until
from fleet.verbs.dispatch import acquire
from fleet.verbs.dispatch.acquire import release
from fleet.world.clock import Clock
from fleet.world.host import Host
from fleet.world.ids import Ids

IDENT = "aaaaaaaa"


@pytest.fixture
def known_id(monkeypatch) -> str:
    monkeypatch.setattr(Ids, "dispatch", lambda _ids: IDENT)
    return IDENT


def look(fleet, ident: str) -> str:
    return KINDS["tmux_session"].look(claim_of(fleet, "tmux_session", ident), fleet.world)


@pytest.mark.req("EXC-1", "EXC-2", "EXC-3", "ADO-1", "AGENT-1")
def test_a_dispatch_holds_a_session_named_after_it_and_its_process_is_the_panes_own(either):
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", "sleep", "1000")
        who = either.launched(fleet, ident)
        pane = fleet.world.tmux.listing().pane(f"fleet-{ident}")
        assert (pane.pid, pane.dispatch, pane.home) == (who.pid, ident, fleet.world.tmux.home_id)
        assert fleet.world.processes.identify(pane.pid) == who, "recorded by the launched process itself"
        held = {claim.kind: claim.state for claim in fleet.claims.list()}
        held.pop("cgroup", None)  # where the system has it
        assert held == dict.fromkeys(
            ("agent_record", "coord_prompt_inbox", "tmux_session", "worker_dir", "worktree"),
            "live",
        )
        assert look(fleet, ident) == "ours"
        assert either.git("rev-parse", "--abbrev-ref", "HEAD", cwd=str(either.tree("t"))) == "worker/t"


def test_a_scene_adds_the_task_that_it_dispatches_though_the_name_of_another_begins_with_it(scene):
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="another", slug="t1")
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        assert fleet.context.dispatch(ident).slug == "t"


@pytest.mark.req("EXC-8")
def test_a_session_whose_name_begins_like_ours_is_never_confused_with_it(scene, known_id):
    scene.forgiven = {"session fleet-aaaaaaaa1"}
    with scene.fleet() as fleet:
        fleet.world.tmux.ensure_server()
        scene.tmux("new-session", "-d", "-s", "fleet-aaaaaaaa1", "sh", "-c", "echo neighbour; exec sleep 1000")
        scene.dispatch(fleet, "t", "sh", "-c", "echo mine; exec sleep 1000")
        scene.shows(fleet, IDENT, "mine")
        assert "neighbour" not in fleet.agents.screen(IDENT)
        claim = claim_of(fleet, "tmux_session", IDENT)
        fleet.dispatches.kill(IDENT, "a test")
        assert KINDS["tmux_session"].look(claim, fleet.world) == "absent"
        KINDS["tmux_session"].release(claim, fleet.world, -1)
        assert fleet.world.tmux.listing().pane("fleet-aaaaaaaa1") is not None
        with pytest.raises(FleetError):
            fleet.agents.attach_words(IDENT)


@pytest.mark.req("EXC-9", "SWEEP-3", "STORE-7", "GRAPH-8")
def test_a_foreign_session_with_our_name_stops_the_dispatch_and_is_listed_never_killed(scene, known_id):
    scene.forgiven = {"session", "journal", "claim tmux_session failed_alloc", "lock"}
    with scene.fleet() as fleet:
        fleet.world.tmux.ensure_server()
        scene.tmux("new-session", "-d", "-s", f"fleet-{IDENT}", "sleep", "1000")
        with pytest.raises(TmuxRefused, match="duplicate"):
            scene.dispatch(fleet, "t", "sleep", "1000")
        assert claim_of(fleet, "tmux_session", IDENT).state == "failed_alloc"
        assert fleet.tasks.show(project="p", slug="t").status == "open"
        found = fleet.sweep.run(kill=True)
        assert any("our name but not our mark" in line for line in standing(found))
        pane = fleet.world.tmux.listing().pane(f"fleet-{IDENT}")
        assert (pane.dead, pane.home, pane.dispatch) == (False, "", ""), "untouched, and not stamped"


@pytest.mark.req("EXC-9", "EXC-7", "SWEEP-7")
def test_a_session_that_lost_our_mark_is_foreign_and_left_alone(scene):
    scene.forgiven = {"session", "journal", "claim tmux_session", "lock"}
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        ident = scene.dispatch(fleet, "t", "true")
        scene.exited(fleet, ident)
        scene.tmux("set-option", "-p", "-t", f"=fleet-{ident}:", "@fleet_home", "somebody")
        assert look(fleet, ident) == "foreign"
        fleet.sweep.run(kill=True)
        assert fleet.world.tmux.listing().pane(f"fleet-{ident}") is not None
        assert acted(fleet.sweep.run(kill=True)) == []


@pytest.mark.req("EXC-2", "SWEEP-5", "AGENT-3")
def test_with_the_server_and_the_panes_process_proven_dead_the_session_is_gone_and_released(either):
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", "sleep", "1000")
        who, server = either.launched(fleet, ident), either.server(fleet)
        for pid in (server, who.pid):
            with contextlib.suppress(ProcessLookupError):  # it may have died with the server
                os.kill(pid, signal.SIGKILL)
        until(lambda: not is_alive(server) and not is_alive(who.pid))
        assert look(fleet, ident) == "absent"
        assert len(acted(fleet.sweep.run(kill=True))) >= 1
        assert fleet.agents.list() == []
        assert fleet.tasks.show(project="p", slug="t").reason.startswith("interrupted")


@pytest.mark.req("EXC-11")
def test_one_launch_a_dispatch_and_a_late_one_exits_by_itself(either):
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", "sh", "-c", f"echo $$ >>{either.root}/launches; exec sleep 1000")
        either.launched(fleet, ident)
        until(lambda: os.path.exists(f"{either.root}/launches"))
        again = either.program("launch", ident)
        assert "no longer" in again.out
        fleet.dispatches.kill(ident, "a test")
        late = either.program("launch", ident)
        assert late.code in {0, 11, 13}
        with open(f"{either.root}/launches") as file:
            assert len(file.readlines()) == 1


@pytest.mark.req("EXC-6", "EXC-5")
def test_releasing_twice_is_fine_and_changes_nothing(either):
    with either.fleet() as fleet:
        either.without_hint(fleet)
        ident = either.dispatch(fleet, "t", "true")
        either.exited(fleet, ident)
        claim = claim_of(fleet, "tmux_session", ident)
        assert release(fleet.context, claim) == ""
        assert release(fleet.context, claim_of(fleet, "tmux_session", ident)) == ""
        assert release(fleet.context, claim) == "", "not even with an old memory of it"
        assert claim_of(fleet, "tmux_session", ident).state == "released"


@pytest.mark.req("EXC-10", "SWEEP-7")
def test_a_claim_of_another_host_is_refused_naming_both_and_can_be_given_up(either, monkeypatch):
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", "sleep", "1000")
        who, here = either.launched(fleet, ident), fleet.world.host.id
    with monkeypatch.context() as patch:
        patch.setattr(Host, "id", property(lambda _host: "elsewhere"))
        with either.fleet() as fleet:
            with pytest.raises(FleetError) as caught:
                release(fleet.context, claim_of(fleet, "tmux_session", ident))
            assert here in str(caught.value)
            assert "elsewhere" in str(caught.value)
            assert acted(fleet.sweep.run(kill=True)) == []
            assert any("host" in line for line in standing(fleet.sweep.run(kill=False)))
            fleet.claims.disown(ident, "tmux_session", "that machine is gone")
            assert not [each for each in fleet.claims.list(kind="tmux_session") if each["dispatch"] == ident]
    assert is_alive(who.pid)
    assert "that machine is gone" in either.program("ops", "--json").out
    either.forgiven = {"session", "process"}


@pytest.mark.req("EXC-11")
def test_a_pane_finds_fleet_though_it_is_not_on_tmuxs_path(scene):
    bare = scene.around(PATH="/usr/bin:/bin")
    scene.program("task", "add", "T", "--slug", "t", "-p", "p").ok()
    done = answer(
        scene.start(FLEET, "dispatch", "t", "-p", "p", "--engine", "shell", "--", "fleet", "--version", env=bare)
    )
    assert done.code == 14, "fleet is not on that PATH, and an engine that is missing is said before anything is made"
    done = answer(
        scene.start(
            FLEET,
            "dispatch",
            "t",
            "-p",
            "p",
            "--engine",
            "shell",
            "--",
            "sh",
            "-c",
            "fleet log hi; sleep 1000",
            env=bare,
        )
    )
    assert done.code == 0, done
    with scene.fleet() as fleet:
        until(lambda: fleet.tasks.show(project="p", slug="t").log)


@pytest.mark.req("EXC-1", "OBS-5")
def test_whoever_attaches_sees_what_the_agent_works_on(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "mend-it", "sleep", "1000")
        shown = scene.tmux("display-message", "-p", "-t", f"=fleet-{ident}:", "#{T:status-left}")
    assert shown.strip() == f"fleet-{ident} p/mend-it"


def test_nobody_else_may_look_into_the_home(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", engine="scripted", script="write a.txt hello\ncommit Add a\ndone\n")
        scene.ended(fleet)
        fleet.merge.task(project="p", slug="t")
        assert fleet.dispatches.show(ident).exec_state == "done"
        scene.swept(fleet)
    Path(scene.home, "config.toml").unlink(missing_ok=True)  # the person's own
    trees = Path(scene.home, "projects/p/worktrees")
    found = [path for path in Path(scene.home).rglob("*") if trees not in path.parents and not path.is_symlink()]
    assert [str(path) for path in found if path.stat().st_mode & 0o077] == []
    assert trees in found


class Continuing(Clock):
    """A clock whose wait lets somebody who was stopped go on."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def wait(self, seconds: float) -> None:
        os.kill(self.pid, signal.SIGCONT)
        super().wait(seconds)


@pytest.mark.req("EXC-6", "SWEEP-8")
@pytest.mark.parametrize("patience", [60.0, 0.0])
def test_who_settles_second_waits_for_the_release_that_is_under_way_but_not_for_ever(either, monkeypatch, patience):
    monkeypatch.setattr(acquire, "_PATIENCE", patience)
    with either.fleet() as fleet:
        either.without_hint(fleet)
        ident = either.dispatch(fleet, "t", "true")
        who = either.launched(fleet, ident)
        until(lambda: not is_alive(who.pid))
        first = either.halted("before", "tmux kill-pane", "settle", ident)
        fleet.world.clock = Continuing(first.pid)
        left = fleet.sessions.settle(ident).left
        os.kill(first.pid, signal.SIGCONT)
        assert first.wait(60) == 0
        assert left == ([] if patience else [f"tmux_session fleet-{ident}: another process is releasing it"])
