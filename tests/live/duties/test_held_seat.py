"""A real daemon that holds a seat: work goes its whole way without a session for the coordinator, and never a signal."""

from pathlib import Path

import pytest
from live.duties.daemons import OWN_LOOP, Daemon
from staging.stage import FLEET, is_alive, process_of

from fleet.testing.crash.scenarios import until


def holder(fleet) -> str | None:
    return fleet.coord.show("p").holder


def is_merged(stage) -> bool:
    has_branch = stage.git("branch", "--list", "fleet/main") != ""
    return has_branch and "t.txt" in stage.git("ls-tree", "--name-only", "fleet/main")


def agents(fleet) -> list[str]:
    return [agent.id for agent in fleet.agents.list() if agent.kind != "coord"]


@pytest.mark.req("GATE-7", "IPC-1")
def test_the_daemon_brings_a_task_from_its_plan_to_the_branch(either, daemon):
    Path(either.repository, "fleet.toml").write_text('review = "none"\n')
    said = either.program("coord", "start", "-p", "p")
    assert (said.code, "duty of the daemon" in said.out) == (0, True)
    with either.fleet() as fleet:
        (seen,) = fleet.agents.list()
        assert (seen.session, seen.detail) == (None, f"daemon, pid {daemon.pid}")
        fleet.tasks.add(project="p", title="T", slug="t", engine="works")
        until(lambda: is_merged(either))
        assert f"daemon, pid {daemon.pid}" in either.program("coord", "status", "-p", "p").out
        assert "worker of t" in either.program("peek", seen.id).out
        refused = either.program("coord", "attach", "-p", "p")
        assert (refused.code, "no terminal" in refused.err) == (14, True)
        fleet.coord.stop("p", "enough")


@pytest.mark.req("IPC-6", "GATE-6")
@pytest.mark.parametrize("end", ["kill", "stop"])
def test_restarting_the_daemon_ends_no_agent_and_it_takes_its_seats_again(either, daemon, end):
    with either.fleet() as fleet:
        first = fleet.coord.start(OWN_LOOP).id
        fleet.tasks.add(project="p", title="T", slug="t", engine="sleeps")
        until(lambda: agents(fleet))
        (ident,) = agents(fleet)
        who = either.launched(fleet, ident)
        getattr(daemon, end)()
        assert fleet.coord.show("p").state == "dead"
        second = Daemon(either)
        until(lambda: holder(fleet) != first and fleet.coord.show("p").state == "alive")
        assert fleet.coord.show("p").where == f"daemon, pid {second.pid}"
        assert (agents(fleet), process_of(fleet, ident), is_alive(who.pid)) == ([ident], who, True)
        fleet.tasks.add(project="p", title="U", slug="u", engine="sleeps")
        until(lambda: len(agents(fleet)) == 2)
        assert fleet.coord.stop("p", "enough").stopped
        second.kill()
        third = Daemon(either)
        until(lambda: any(each.name == "coordinators" and each.rounds for each in duties(either)))
        assert holder(fleet) is None, "what was stopped stays stopped"
        third.stop()
        assert is_alive(who.pid)


def duties(stage):
    from fleet.api.remote import lifecycle  # noqa: PLC0415 - only here

    with stage.fleet() as fleet:
        return lifecycle.status(fleet).duties


@pytest.mark.req("GATE-11", "REP-9", "EXC-4")
@pytest.mark.parametrize("way", ["coord stop", "kill", "sweep"])
def test_nothing_that_ends_a_coordinator_signals_the_daemon(either, daemon, way):
    with either.fleet() as fleet:
        ident = fleet.coord.start(OWN_LOOP).id
        if way == "kill":
            said = either.program("kill", ident, "-r", "enough")
        elif way == "sweep":
            said = either.program("maintenance", "sweep-leaks", "--kill")
        else:
            said = either.program(*way.split(), "-p", "p")
        assert said.code == 0, said.err
        assert daemon.lives()
        assert either.program("ps", env=either.around(FLEET_DIRECT="1")).code == 0
        ended = way != "sweep"
        assert (fleet.dispatches.show(ident).exec_state in {"failed", "done"}) == ended
        until(lambda: not ended or not any(each.name.startswith("coordinator of") for each in duties(either)))
        assert daemon.lives()
        if not ended:
            fleet.coord.stop("p", "enough")


@pytest.mark.req("GATE-9")
def test_racing_starts_give_one_coordinator(either, daemon):
    children = [either.start(FLEET, "coord", "start", "-p", "p") for _ in range(8)]
    codes = sorted(child.wait(60) for child in children)
    assert codes.count(0) == 1, codes
    assert set(codes[1:]) <= {12, 14}
    with either.fleet() as fleet:
        assert [agent.kind for agent in fleet.agents.list()] == ["coord"]
        fleet.coord.stop("p", "enough")
