"""Who may release what: the owner, from its own host and socket. What is unknown or foreign stays as it is."""

import json
import os
import signal

import pytest
from staging.stage import acted, claim_of, raw, standing

from fleet.errors.absent import NoCoordinator
from fleet.errors.families import NotOwned, Refused, Superseded
from fleet.errors.refused import OtherHost
from fleet.errors.tools import TmuxRefused
from fleet.model.identity import Identity
from fleet.resources import KINDS
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.agents.prompts import WantedPrompt
from fleet.verbs.dispatch.acquire import release
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.views.operations import Which
from fleet.world.tmux import Listing

SESSION = "tmux_session"
ELSEWHERE = "/elsewhere/tmux.sock"
COORD = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))


def session_of(scene, ident: str):
    return claim_of(scene.fleet, SESSION, ident)


def look(scene, ident: str) -> str:
    return KINDS[SESSION].look(session_of(scene, ident), scene.fleet.world)


def kill(scene, ident: str) -> None:
    scene.machine.table.signal(scene.agent(ident), signal.SIGKILL)


def panes(scene) -> list[str]:
    return [pane.session for server in scene.machine.servers.values() for pane in server.panes]


# the seat -----------------------------------------------------------------------------------------------------------------
def seats(scene) -> list[tuple[str, str | None, str, str]]:
    markers = scene.fleet.claims.list(kind="coord_spawn_marker")
    return [(each.name, each.dispatch, each.class_, each.state) for each in markers]


def seated(scene) -> str:
    ident = scene.fleet.coord.start(COORD).id
    scene.launch(ident)
    return ident


@pytest.mark.req("EXC-4")
def test_the_seat_is_listed_as_a_claim_until_its_coordinator_is_stopped(either):
    assert seats(either) == []
    ident = seated(either)
    held = [(PROJECT, ident, "exclusive", "live")]
    assert seats(either) == held
    kill(either, ident)
    either.fleet.sweep.run(kill=True)
    assert seats(either) == held, "a dead holder keeps the seat"
    epoch = either.fleet.coord.show(PROJECT).epoch
    assert either.fleet.coord.stop(PROJECT, "enough").stopped
    assert seats(either) == []
    assert either.fleet.coord.show(PROJECT).epoch == epoch + 1
    with pytest.raises(NoCoordinator):
        either.fleet.coord.stop(PROJECT, "again")


# owners -------------------------------------------------------------------------------------------------------------------
@pytest.mark.req("EXC-5", "EXC-10", "SWEEP-7")
def test_a_session_of_another_socket_is_not_released_from_here_and_both_are_named(either):
    ident = either.work("a")
    kill(either, ident)
    data = json.dumps({**session_of(either, ident).data, "socket": ELSEWHERE})
    raw(either.fleet, f"UPDATE claims SET home = NULL, data = '{data}' WHERE kind = '{SESSION}'")
    with pytest.raises(OtherHost) as caught:
        release(either.fleet.context, session_of(either, ident))
    assert ELSEWHERE in str(caught.value)
    assert either.home in str(caught.value)
    either.fleet.sweep.run(kill=True)
    assert session_of(either, ident).state == "live"
    assert panes(either) == [f"fleet-{ident}"]


@pytest.mark.req("EXC-5", "EXC-10", "SWEEP-7")
def test_a_claim_of_another_host_is_refused_and_given_up_by_a_person_alone(either):
    ident = either.work("a")
    with pytest.raises(Refused, match="of this home"):
        either.fleet.claims.disown(ident, SESSION, "no reason")
    raw(either.fleet, f"UPDATE claims SET host = 'moon' WHERE kind = '{SESSION}'")
    with pytest.raises(OtherHost, match="moon") as caught:
        release(either.fleet.context, session_of(either, ident))
    assert either.fleet.world.host.id in str(caught.value)
    kill(either, ident)
    either.fleet.sweep.run(kill=True)
    assert session_of(either, ident).state == "live"
    assert either.fleet.claims.disown(ident, SESSION, "it sank").count == 1
    assert session_of(either, ident).state == "released"
    assert panes(either) == [f"fleet-{ident}"], "what was claimed is not touched"
    (newest,) = either.fleet.operations.list(Which(), limit=1)
    assert (newest.why, "it sank" in json.dumps(newest.what)) == (f"disown {SESSION} of {ident}: it sank", True)


@pytest.mark.req("EXC-5")
def test_a_program_does_not_release_the_session_of_an_agent_at_work(either):
    ident = either.work("a")
    with pytest.raises(NotOwned, match=ident):
        either.fleet.claims.release_prompt(ident, SESSION)
    assert session_of(either, ident).state == "live"
    assert panes(either) == [f"fleet-{ident}"]


@pytest.mark.req("EXC-10")
def test_a_program_that_means_another_host_or_socket_is_refused(either):
    world = either.fleet.world
    for field, mine in (("host_id", world.host.id), ("tmux_socket", world.tmux.socket)):
        wanted = WantedPrompt(owner=f"coord/{PROJECT}", **{field: "moon"})
        with pytest.raises(OtherHost, match="moon") as caught:
            either.fleet.claims.acquire_prompt("aaaaaaaa", "x", wanted)
        assert mine in str(caught.value)
    assert either.fleet.files.names("inbox") == []


@pytest.mark.req("EXC-6")
def test_releasing_what_is_released_or_gone_succeeds(either):
    first, second = either.work("a"), either.work("b")
    for ident in (first, second):
        kill(either, ident)
    remembered = session_of(either, first)
    assert release(either.fleet.context, remembered) == ""
    assert panes(either) == [f"fleet-{second}"]
    for claim in (remembered, session_of(either, first)):
        assert release(either.fleet.context, claim) == ""
    either.server.close(either.pane(second))
    assert release(either.fleet.context, session_of(either, second)) == ""
    assert {session_of(either, ident).state for ident in (first, second)} == {"released"}


# what is acquired ---------------------------------------------------------------------------------------------------------
@pytest.mark.req("EXC-1")
def test_what_a_dispatch_needs_is_live_when_it_returns_and_what_could_not_be_made_is_not(either, monkeypatch):
    ident = either.dispatch("a")
    assert session_of(either, ident).state == "live", "before anybody has launched it"
    assert {each.state for each in either.fleet.claims.list() if each.kind != "agent_record"} == {"live"}

    def refuse(*_words, **_facts):
        allocating.extend(each.kind for each in either.fleet.claims.list() if each.state == "allocating")
        raise TmuxRefused(what="make it", why="no")

    allocating: list[str] = []
    monkeypatch.setattr(either.fleet.world.tmux, "create", refuse)
    monkeypatch.setattr(KINDS[SESSION], "release", refuse)
    with pytest.raises(TmuxRefused):
        either.dispatch("b")
    assert SESSION in allocating, "the intent is recorded before anything is made"
    states = {each.kind: each.state for each in either.fleet.claims.list() if each.dispatch not in {None, ident}}
    assert states.get(SESSION) == "failed_alloc"


@pytest.mark.req("EXC-11")
def test_a_second_launch_and_one_after_the_end_are_superseded(either):
    ident = either.work("a")
    agent = either.agent(ident)
    for _ in range(2):
        with pytest.raises(Superseded):
            either.launch(ident)
    assert either.agent(ident) == agent
    late = either.dispatch("b")
    process = either.pane(late).process
    raw(either.fleet, f"UPDATE dispatches SET exec_state = 'failed', ended_at = 1 WHERE id = '{late}'")
    with pytest.raises(Superseded):
        either.launch(late)
    assert process.words[:1] != ("sleep",)


@pytest.mark.req("EXC-3")
def test_the_record_of_an_agent_is_archived_when_its_dispatch_ends(either):
    ident = either.work("a")

    def records() -> list[str]:
        return [each.state for each in either.fleet.dispatches.show(ident).claims if each.kind == "agent_record"]

    assert records() == ["live"]
    assert [each.name for each in either.fleet.claims.list(kind="agent_record")] == [ident]
    kill(either, ident)
    either.fleet.sweep.run(kill=True)
    assert records() == ["archived"]
    assert either.fleet.claims.list(kind="agent_record") == []


# what is seen -------------------------------------------------------------------------------------------------------------
@pytest.mark.req("EXC-2", "EXC-7")
def test_another_server_on_the_socket_says_nothing_of_the_session(either):
    ident = either.work("a")
    first = either.server
    os.unlink(first.socket)
    either.fleet.world.tmux.ensure_server()
    assert look(either, ident) == "unknown"
    kill(either, ident)
    assert "unknown" in release(either.fleet.context, session_of(either, ident))
    assert session_of(either, ident).state == "live"
    assert len(first.panes) == 1


@pytest.mark.req("EXC-2")
def test_a_dead_server_proves_the_session_gone_only_with_the_panes_process(either):
    ident = either.work("a")
    agent = either.agent(ident)
    agent.ignores.add(signal.SIGHUP)
    either.machine.table.signal(either.server.process, signal.SIGKILL)
    assert look(either, ident) == "unknown"
    either.machine.table.exit(agent)
    assert look(either, ident) == "absent"


@pytest.mark.req("EXC-2")
def test_another_boot_proves_a_death_that_nothing_contradicts(either):
    ident = either.work("a")
    who = Identity.parse(either.fleet.context.dispatch(ident).process)
    either.reboot()
    assert either.fleet.world.processes.life(who) == "dead"
    assert either.fleet.world.processes.life(None) == "unknown"
    still = either.machine.table.spawn(1, ["sleep"], pid=who.pid + 5_000)
    seen = Identity(host=who.host, boot=who.boot, pid=still.pid, start=still.start)
    assert either.fleet.world.processes.life(seen) == "unknown", "the same pid with the same start is there"


@pytest.mark.req("EXC-8")
def test_a_session_is_found_by_its_whole_name(scene):
    ident = scene.dispatch("a")
    (pane,) = scene.fleet.world.tmux.listing().panes
    listing = Listing(server=None, panes=(pane,), home=pane.home)
    assert listing.pane(f"fleet-{ident}") == pane
    assert listing.pane(f"fleet-{ident[:-1]}") is None
    assert listing.pane_of(ident) == pane
    assert listing.pane_of(ident[:-1]) is None


@pytest.mark.req("EXC-9", "SWEEP-3")
def test_a_session_without_our_mark_is_foreign_and_unknown_while_its_claim_is_allocating(either):
    ident = either.dispatch("a")
    pane = either.pane(ident)
    pane.home = "somebody"
    assert look(either, ident) == "foreign"
    pane.home = pane.dispatch = ""
    raw(either.fleet, f"UPDATE claims SET state = 'allocating' WHERE kind = '{SESSION}'")
    assert look(either, ident) == "unknown"
    raw(either.fleet, f"UPDATE claims SET state = 'failed_alloc' WHERE kind = '{SESSION}'")
    assert look(either, ident) == "foreign"
    found = either.fleet.sweep.run(kill=True)
    assert any("our name but not our mark" in line for line in standing(found))
    assert not [line for line in acted(found) if "session" in line]
    assert panes(either) == [f"fleet-{ident}"]
