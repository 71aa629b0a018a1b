"""The gate before the seat: one coordinator a project, whatever races, dies or is slow."""

import os
import re
import signal
from dataclasses import replace

import pytest
from staging.stage import FLEET, answer, is_alive, process_of

import fleet.world.tmux as tmux_module
from fleet.errors.contested import CoordSpawnInProgress
from fleet.errors.refused import CoordinatorLives
from fleet.store import queries as q
from fleet.testing.crash.scenarios import until
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.host import Host

SPAWN = (FLEET, "dispatch", "--coord-spawn", "-p", "p", "--engine", "shell", "--", "sleep", "1000")
GATE_2 = re.compile(
    r'refusing to spawn coord for project "p": another coord-spawn is in progress '
    r"\(lock holder: (pid=\d+|unknown process)\)\. "
    r'attach to the in-flight coord with "fleet coord attach -p p" once it finishes booting'
)
# It takes the seat, if it has to prove itself, and then does nothing more.
PROVES = ("sh", "-c", "fleet coord tick; exec sleep 1000")
COORD = Wanted(project="p", slug=None, kind="coord", engine="shell", command=PROVES)


def seat(fleet, project: str = "p") -> dict:
    return fleet.store.read(lambda rows: q.seat_of(rows, project=project)) or {"holder": None}


def coordinators(fleet) -> list[str]:
    return [agent.id for agent in fleet.agents.list() if agent.kind == "coord"]


@pytest.mark.req("GATE-1", "GATE-2", "GATE-6", "GATE-9")
def test_sixteen_racing_coord_spawns_give_one_coordinator_and_fifteen_clean_refusals(either):
    said = [answer(child) for child in [either.start(*SPAWN) for _ in range(16)]]
    assert [each.code for each in said].count(0) == 1, said
    refused = [each for each in said if each.code]
    assert {each.code for each in refused} <= {12, 14}, said
    assert all(GATE_2.search(each.err) for each in refused if each.code == 12), refused
    assert all("attach" in each.err for each in refused), refused
    with either.fleet() as fleet:
        (ident,) = coordinators(fleet)
        either.launched(fleet, ident)
        assert seat(fleet).holder == ident
        assert [pane.session for pane in fleet.world.tmux.listing().panes] == [f"fleet-{ident}"]
        assert [each.id for each in fleet.dispatches.list()] == [ident], "one record"
        assert fleet.files.names("dispatches/archive") == [], "and none that came and went"


@pytest.mark.req("GATE-2")
def test_a_second_spawn_fails_at_once_in_the_agreed_words_and_names_the_holder(scene):
    child = scene.halted("before", "tmux new-session", "coord")
    said = answer(scene.start(*SPAWN))
    assert said.code == 12
    assert GATE_2.search(said.err), said.err
    assert f"pid={child.pid}" in said.err


@pytest.mark.req("GATE-2", "GATE-10")
def test_garbled_holder_text_reads_unknown_process_and_decides_nothing(scene):
    scene.halted("before", "tmux new-session", "coord")
    path = f"{scene.home}/projects/p/.locks/coord-spawn.lock"
    with open(path, "w") as file:
        file.write("{garbage")
    with scene.fleet() as fleet, pytest.raises(CoordSpawnInProgress, match="lock holder: unknown process"):
        fleet.coord.start(COORD)


@pytest.mark.req("GATE-3", "GATE-6")
def test_a_pending_coordinator_whose_spawner_was_killed_is_recovered_by_the_next_spawn(either):
    child = either.halted("before", "tmux new-session", "coord")
    with either.fleet() as fleet:
        pending = seat(fleet).holder
        assert pending is not None, "durable before anything of it is made"
        os.kill(child.pid, signal.SIGKILL)
        child.wait(60)
        new = fleet.coord.start(COORD).id
        assert new != pending
        assert seat(fleet).holder == new
        assert coordinators(fleet) == [new]
        either.launched(fleet, new)


@pytest.mark.req("GATE-6", "GATE-12", "SWEEP-8")
def test_between_spawn_and_first_sign_of_life_a_second_spawn_is_refused_and_a_sweep_changes_nothing(either, slow_fleet):
    program, let_go = slow_fleet
    ident = either.dispatch_and_leave(verb="coord", TEST_FLEET_PROGRAM=program)
    with either.fleet() as fleet:
        assert fleet.context.dispatch(ident).exec_state == "pending"
        with pytest.raises(CoordinatorLives):
            fleet.coord.start(COORD)
        fleet.sweep.run(kill=True)
        assert coordinators(fleet) == [ident]
        let_go()
        either.launched(fleet, ident)
        assert seat(fleet).holder == ident


@pytest.mark.req("GATE-7")
def test_a_living_coordinator_vetoes_and_says_where_it_lives_and_how_to_attach(either):
    with either.fleet() as fleet:
        ident = fleet.coord.start(COORD).id
        either.launched(fleet, ident)
        said = answer(either.start(*SPAWN))
        assert said.code == 14
        for word in (ident, fleet.world.tmux.socket, fleet.world.host.id, f"attach {ident}"):
            assert word in said.err
        assert coordinators(fleet) == [ident]


@pytest.mark.req("GATE-7", "EXC-4")
def test_a_coordinator_proven_dead_is_settled_and_replaced_and_the_seat_is_never_swept(either):
    with either.fleet() as fleet:
        either.without_hint(fleet)
        old = fleet.coord.start(replace(COORD, command=("sleep", "1000"))).id
        os.kill(either.launched(fleet, old).pid, signal.SIGKILL)
        either.exited(fleet, old)
        epoch = seat(fleet).epoch
        new = fleet.coord.start(COORD).id
        assert (seat(fleet).holder, seat(fleet).epoch) == (new, epoch + 1)
        assert fleet.dispatches.show(old).exec_state == "failed"
        os.kill(either.launched(fleet, new).pid, signal.SIGKILL)
        either.exited(fleet, new)
        either.swept(fleet)
        assert seat(fleet).holder == new, "released only by coord stop, moved only by Replace"
        third = fleet.coord.start(COORD).id
        assert seat(fleet).holder == third


@pytest.mark.req("GATE-7", "GATE-12")
def test_a_coordinator_behind_a_stopped_server_vetoes(scene, monkeypatch):
    with scene.fleet() as fleet:
        ident = fleet.coord.start(COORD).id
        who, server = scene.launched(fleet, ident), scene.server(fleet)
        monkeypatch.setattr(tmux_module, "LIMIT", 1.0)
        os.kill(server, signal.SIGSTOP)
        os.kill(who.pid, signal.SIGSTOP)
        with pytest.raises(CoordinatorLives):
            fleet.coord.start(COORD)
        os.kill(server, signal.SIGCONT)
        os.kill(who.pid, signal.SIGCONT)
        monkeypatch.setattr(tmux_module, "LIMIT", 5.0)
        assert is_alive(who.pid)
        assert coordinators(fleet) == [ident]


@pytest.mark.req("GATE-7", "EXC-10")
def test_a_coordinator_of_another_host_is_unknown_and_vetoes(either, monkeypatch):
    with either.fleet() as fleet:
        ident = fleet.coord.start(COORD).id
        either.launched(fleet, ident)
    with monkeypatch.context() as patch:
        patch.setattr(Host, "id", property(lambda _host: "elsewhere"))
        with either.fleet() as fleet, pytest.raises(CoordinatorLives, match="unknown"):
            fleet.coord.start(COORD)
    with either.fleet() as fleet:
        assert is_alive(process_of(fleet, ident).pid)


@pytest.mark.req("GATE-3")
@pytest.mark.parametrize("how", ["success", "failure"])
def test_the_gate_is_free_after_the_spawn_and_held_by_neither_the_server_nor_the_coordinator(scene, how):
    with scene.fleet() as fleet:
        words = ("sleep", "1000") if how == "success" else ("no-such-program",)
        done = answer(scene.start(*SPAWN[:-2], *words))
        assert (done.code == 0) == (how == "success")
        fleet.world.project_gate("p", "coord-spawn").take()


@pytest.mark.req("GATE-4")
def test_projects_do_not_block_each_other(either):
    other = f"{either.root}/other"
    either.git("clone", "--quiet", either.repository, other)
    with either.fleet() as fleet:
        fleet.projects.register(other, "q")
        either.halted("before", "publish inbox/", "coord")
        ident = fleet.coord.start(
            Wanted(project="q", slug=None, kind="coord", engine="shell", command=("sleep", "1000"))
        ).id
        assert seat(fleet, "q").holder == ident


@pytest.mark.req("GATE-5")
def test_a_plain_dispatch_takes_no_gate_and_a_coord_spawn_without_a_project_is_a_usage_error(scene):
    with scene.fleet() as fleet:
        gate = fleet.world.project_gate("p", "coord-spawn")
        gate.take()
        scene.dispatch(fleet, "t", "sleep", "1000")
        gate.give()
        assert seat(fleet)["holder"] is None
    said = answer(scene.start(FLEET, "dispatch", "--coord-spawn", "--engine", "shell", "--", "sleep", "1000"))
    assert said.code == 2
    assert "project" in said.err


@pytest.mark.req("GATE-1", "GATE-10")
def test_the_gate_is_taken_before_any_other_check_and_its_file_stays(scene):
    with scene.fleet() as fleet:
        gate = fleet.world.project_gate("p", "coord-spawn")
        gate.take()
        said = answer(scene.start(*SPAWN[:-2], "no-such-program"))
        assert said.code == 12, "not even the engine was looked at"
        gate.give()
        until(lambda: os.path.exists(f"{scene.home}/projects/p/.locks/coord-spawn.lock"))


@pytest.mark.req("GATE-7")
def test_a_coordinator_whose_spawner_died_is_not_called_starting_for_ever(either):
    child = either.halted("before", "tmux new-session", "coord")
    with either.fleet() as fleet:
        (one,) = fleet.agents.list()
        assert (fleet.coord.show("p").state, one.state) == ("starting", "starting")
        child.kill()
        child.wait()
        (one,) = fleet.agents.list()
        assert (fleet.coord.show("p").state, one.state) == ("dead before it started", "exited")
        assert "dead before it started: `fleet coord start -p p`" in either.program("coord", "status").ok().out
        assert "dead before it started: `fleet coord start -p p`" in either.program("ps").ok().out
        assert "dead before it started" in either.program("status").ok().out
        again = fleet.coord.start(COORD).id
        either.launched(fleet, again)
        assert fleet.coord.show("p").state == "alive"
